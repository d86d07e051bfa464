/* pool_f32_neon.c - pools, four channels a vector. */
#include "kernel/pool_f32/pool_f32_body.h"
