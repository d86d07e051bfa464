/* rows_dx_f32_sve512.c - gradients of row kernels, scalable vectors of 512 bits. */
#include "kernel/rows_dx_f32/rows_dx_f32_body.h"
