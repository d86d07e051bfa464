/* pool_dx_f32_avx2.c - gradients of pools, eight channels a vector. */
#include "kernel/pool_dx_f32/pool_dx_f32_body.h"
