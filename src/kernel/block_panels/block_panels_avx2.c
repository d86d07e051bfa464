/* block_panels_avx2.c - block-quantised weights to packed floats, 256-bit vectors. */
#include "kernel/block_panels/block_panels_body.h"
