/* reduce_f64_neon.c - reductions, 128-bit vectors. */
#include "kernel/reduce_f64/reduce_f64_body.h"
