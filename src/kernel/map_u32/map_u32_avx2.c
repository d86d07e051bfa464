/* map_u32_avx2.c - element-wise operations, 256-bit vectors. */
#include "kernel/map_u32/map_u32_body.h"
