/* rows_f32_neon.c - softmax and norms, 128-bit vectors. */
#include "kernel/rows_f32/rows_f32_body.h"
