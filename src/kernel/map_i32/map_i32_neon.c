/* map_i32_neon.c - element-wise operations, 128-bit vectors. */
#include "kernel/map_i32/map_i32_body.h"
