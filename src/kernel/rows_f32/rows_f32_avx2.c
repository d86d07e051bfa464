/* rows_f32_avx2.c - softmax and norms, 256-bit vectors. */
#include "kernel/rows_f32/rows_f32_body.h"
