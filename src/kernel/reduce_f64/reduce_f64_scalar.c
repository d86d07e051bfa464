/* reduce_f64_scalar.c - reductions, the definition: one element at a time. */
#include "kernel/reduce_f64/reduce_f64_body.h"
