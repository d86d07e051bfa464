/* rows_f64_sve512.c - softmax and norms, scalable vectors of 512 bits. */
#include "kernel/rows_f64/rows_f64_body.h"
