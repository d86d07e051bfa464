/* rows_dx_f32_scalar.c - gradients of row kernels, the definition: one element at a time. */
#include "kernel/rows_dx_f32/rows_dx_f32_body.h"
