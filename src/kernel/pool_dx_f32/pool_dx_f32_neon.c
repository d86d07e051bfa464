/* pool_dx_f32_neon.c - gradients of pools, four channels a vector. */
#include "kernel/pool_dx_f32/pool_dx_f32_body.h"
