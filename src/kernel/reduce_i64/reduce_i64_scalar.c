/* reduce_i64_scalar.c - reductions, the definition: one element at a time. */
#include "kernel/reduce_i64/reduce_i64_body.h"
