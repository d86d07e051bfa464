/* pool_f32_avx2.c - pools, eight channels a vector. */
#include "kernel/pool_f32/pool_f32_body.h"
