/* reduce_f32_avx2.c - reductions, 256-bit vectors. */
#include "kernel/reduce_f32/reduce_f32_body.h"
