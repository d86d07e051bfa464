/* reduce_u64_neon.c - reductions, 128-bit vectors. */
#include "kernel/reduce_u64/reduce_u64_body.h"
