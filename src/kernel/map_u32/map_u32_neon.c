/* map_u32_neon.c - element-wise operations, 128-bit vectors. */
#include "kernel/map_u32/map_u32_body.h"
