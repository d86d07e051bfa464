/* rows_f64_avx512.c - softmax and norms, 512-bit vectors. */
#include "kernel/rows_f64/rows_f64_body.h"
