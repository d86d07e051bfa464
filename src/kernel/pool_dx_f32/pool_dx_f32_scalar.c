/* pool_dx_f32_scalar.c - gradients of pools, the definition: one channel at a time. */
#include "kernel/pool_dx_f32/pool_dx_f32_body.h"
