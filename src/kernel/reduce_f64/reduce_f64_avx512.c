/* reduce_f64_avx512.c - reductions, 512-bit vectors. */
#include "kernel/reduce_f64/reduce_f64_body.h"
