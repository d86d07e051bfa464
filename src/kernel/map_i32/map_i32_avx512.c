/* map_i32_avx512.c - element-wise operations, 512-bit vectors. */
#include "kernel/map_i32/map_i32_body.h"
