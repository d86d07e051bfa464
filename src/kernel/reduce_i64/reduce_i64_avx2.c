/* reduce_i64_avx2.c - reductions, 256-bit vectors. */
#include "kernel/reduce_i64/reduce_i64_body.h"
