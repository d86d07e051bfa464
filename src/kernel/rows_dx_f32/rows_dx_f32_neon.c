/* rows_dx_f32_neon.c - gradients of row kernels, 128-bit vectors. */
#include "kernel/rows_dx_f32/rows_dx_f32_body.h"
