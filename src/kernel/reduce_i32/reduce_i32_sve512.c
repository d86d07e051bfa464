/* reduce_i32_sve512.c - reductions, scalable vectors of 512 bits. */
#include "kernel/reduce_i32/reduce_i32_body.h"
