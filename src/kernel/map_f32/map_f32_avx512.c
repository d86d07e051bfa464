/* map_f32_avx512.c - element-wise operations, 512-bit vectors. */
#include "kernel/map_f32/map_f32_body.h"
