/* pool_dx_f32_avx512.c - gradients of pools, sixteen channels a vector. */
#include "kernel/pool_dx_f32/pool_dx_f32_body.h"
