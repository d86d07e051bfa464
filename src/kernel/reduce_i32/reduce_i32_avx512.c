/* reduce_i32_avx512.c - reductions, 512-bit vectors. */
#include "kernel/reduce_i32/reduce_i32_body.h"
