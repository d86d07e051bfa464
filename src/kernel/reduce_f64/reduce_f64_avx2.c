/* reduce_f64_avx2.c - reductions, 256-bit vectors. */
#include "kernel/reduce_f64/reduce_f64_body.h"
