/* pool_f32_sve256.c - pools, eight channels a vector. */
#include "kernel/pool_f32/pool_f32_body.h"
