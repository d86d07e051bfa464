/* reduce_i32_avx2.c - reductions, 256-bit vectors. */
#include "kernel/reduce_i32/reduce_i32_body.h"
