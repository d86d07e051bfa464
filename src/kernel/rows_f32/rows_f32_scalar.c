/* rows_f32_scalar.c - softmax and norms, the definition: one element at a time. */
#include "kernel/rows_f32/rows_f32_body.h"
