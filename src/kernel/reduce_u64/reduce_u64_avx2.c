/* reduce_u64_avx2.c - reductions, 256-bit vectors. */
#include "kernel/reduce_u64/reduce_u64_body.h"
