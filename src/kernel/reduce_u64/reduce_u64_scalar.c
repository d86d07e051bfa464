/* reduce_u64_scalar.c - reductions, the definition: one element at a time. */
#include "kernel/reduce_u64/reduce_u64_body.h"
