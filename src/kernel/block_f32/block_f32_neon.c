/* block_f32_neon.c - a few rows by block-quantised weights, 128-bit vectors. */
#include "kernel/block_f32/block_f32_body.h"
