/* block_f32_avx512.c - a few rows by block-quantised weights, 512-bit vectors. */
#include "kernel/block_f32/block_f32_body.h"
