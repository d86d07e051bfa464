/* reduce_f32_avx512.c - reductions, 512-bit vectors. */
#include "kernel/reduce_f32/reduce_f32_body.h"
