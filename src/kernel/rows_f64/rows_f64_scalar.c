/* rows_f64_scalar.c - softmax and norms, the definition: one element at a time. */
#include "kernel/rows_f64/rows_f64_body.h"
