/* block_f32_avx2.c - a few rows by block-quantised weights, 256-bit vectors. */
#include "kernel/block_f32/block_f32_body.h"
