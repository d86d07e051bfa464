/* reduce_i64_avx512.c - reductions, 512-bit vectors. */
#include "kernel/reduce_i64/reduce_i64_body.h"
