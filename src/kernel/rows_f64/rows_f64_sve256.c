/* rows_f64_sve256.c - softmax and norms, scalable vectors of 256 bits. */
#include "kernel/rows_f64/rows_f64_body.h"
