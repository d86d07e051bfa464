/* reduce_u32_neon.c - reductions, 128-bit vectors. */
#include "kernel/reduce_u32/reduce_u32_body.h"
