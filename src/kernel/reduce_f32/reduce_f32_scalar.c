/* reduce_f32_scalar.c - reductions, the definition: one element at a time. */
#include "kernel/reduce_f32/reduce_f32_body.h"
