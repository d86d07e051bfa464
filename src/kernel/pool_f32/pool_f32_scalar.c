/* pool_f32_scalar.c - pools, the definition: one channel at a time. */
#include "kernel/pool_f32/pool_f32_body.h"
