/* rows_dx_f32_sve256.c - gradients of row kernels, scalable vectors of 256 bits. */
#include "kernel/rows_dx_f32/rows_dx_f32_body.h"
