/* reduce_u64_avx512.c - reductions, 512-bit vectors. */
#include "kernel/reduce_u64/reduce_u64_body.h"
