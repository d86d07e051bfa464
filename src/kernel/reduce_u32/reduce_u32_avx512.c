/* reduce_u32_avx512.c - reductions, 512-bit vectors. */
#include "kernel/reduce_u32/reduce_u32_body.h"
