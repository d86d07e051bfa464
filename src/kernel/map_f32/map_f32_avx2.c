/* map_f32_avx2.c - element-wise operations, 256-bit vectors. */
#include "kernel/map_f32/map_f32_body.h"
