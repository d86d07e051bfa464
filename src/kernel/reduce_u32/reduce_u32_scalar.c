/* reduce_u32_scalar.c - reductions, the definition: one element at a time. */
#include "kernel/reduce_u32/reduce_u32_body.h"
