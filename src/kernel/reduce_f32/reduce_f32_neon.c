/* reduce_f32_neon.c - reductions, 128-bit vectors. */
#include "kernel/reduce_f32/reduce_f32_body.h"
