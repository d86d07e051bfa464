/* pool_f32_sve512.c - pools, sixteen channels a vector. */
#include "kernel/pool_f32/pool_f32_body.h"
