/* map_u32_avx512.c - element-wise operations, 512-bit vectors. */
#include "kernel/map_u32/map_u32_body.h"
