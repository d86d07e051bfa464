/* reduce_i32_neon.c - reductions, 128-bit vectors. */
#include "kernel/reduce_i32/reduce_i32_body.h"
