/* rows_f32_avx512.c - softmax and norms, 512-bit vectors. */
#include "kernel/rows_f32/rows_f32_body.h"
