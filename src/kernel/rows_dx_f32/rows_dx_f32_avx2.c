/* rows_dx_f32_avx2.c - gradients of row kernels, 256-bit vectors. */
#include "kernel/rows_dx_f32/rows_dx_f32_body.h"
