/* rows_f64_avx2.c - softmax and norms, 256-bit vectors. */
#include "kernel/rows_f64/rows_f64_body.h"
