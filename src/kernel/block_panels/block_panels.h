/* block_panels.h - contract of converting block-quantised weights to packed floats.
 *
 *     dst = (level - zero) * scale, in f32: the difference rounded, then the product
 *
 *   layout     rows [first, first + k) of all columns, as one chunk of kernel/pack/panels.h:
 *              [panel][k][columns of the panel]; columns that do not exist are +0
 *   rows       `first` is a multiple of TAKT_BLOCKS_STEP; k ends with b.k or at such a multiple
 *   reads      exactly the panels of B; writes takt_panels_columns(panels, b.n) * k floats
 */
#ifndef TAKT_KERNEL_BLOCK_PANELS_H
#define TAKT_KERNEL_BLOCK_PANELS_H

#include "kernel/blocks/blocks.h"
#include "kernel/kernel.h"
#include "kernel/pack/panels.h"

typedef struct takt_block_panels {
    takt_blocks b;
    size_t first, k;
    takt_panels panels;
    float *dst;
} takt_block_panels;

typedef void takt_block_panels_fn(const takt_block_panels *g);

TAKT_KERNEL_FAMILY(block_panels, takt_block_panels_fn)

#endif
