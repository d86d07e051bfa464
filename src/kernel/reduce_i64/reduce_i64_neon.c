/* reduce_i64_neon.c - reductions, 128-bit vectors. */
#include "kernel/reduce_i64/reduce_i64_body.h"
