/* reduce_i32_sve256.c - reductions, scalable vectors of 256 bits. */
#include "kernel/reduce_i32/reduce_i32_body.h"
