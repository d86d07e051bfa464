/* rows_f64_neon.c - softmax and norms, 128-bit vectors. */
#include "kernel/rows_f64/rows_f64_body.h"
