/* block_panels_avx512.c - block-quantised weights to packed floats, 512-bit vectors. */
#include "kernel/block_panels/block_panels_body.h"
