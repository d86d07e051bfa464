/* map_i32_avx2.c - element-wise operations, 256-bit vectors. */
#include "kernel/map_i32/map_i32_body.h"
