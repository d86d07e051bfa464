/* block_panels_neon.c - block-quantised weights to packed floats, 128-bit vectors. */
#include "kernel/block_panels/block_panels_body.h"
