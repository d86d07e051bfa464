/* rows_dx_f32_avx512.c - gradients of row kernels, 512-bit vectors. */
#include "kernel/rows_dx_f32/rows_dx_f32_body.h"
