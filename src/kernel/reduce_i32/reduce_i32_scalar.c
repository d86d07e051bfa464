/* reduce_i32_scalar.c - reductions, the definition: one element at a time. */
#include "kernel/reduce_i32/reduce_i32_body.h"
