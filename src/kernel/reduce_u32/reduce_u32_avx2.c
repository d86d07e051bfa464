/* reduce_u32_avx2.c - reductions, 256-bit vectors. */
#include "kernel/reduce_u32/reduce_u32_body.h"
