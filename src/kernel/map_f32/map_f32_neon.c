/* map_f32_neon.c - element-wise operations, 128-bit vectors. */
#include "kernel/map_f32/map_f32_body.h"
