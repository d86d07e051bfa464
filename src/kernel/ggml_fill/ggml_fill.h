/* ggml_fill.h - contract of converting panels of weights in ggml's block formats to floats.
 *
 *     dst[k][j] = weight k of column j: the floats that kernel/ggml_f32/ggml_f32.h defines
 *
 *   columns    whole panels, those beyond the last column too
 *   formats    those that takt_ggml_has_panels
 *   reads      exactly blocks [first, first + count) of the panels; writes exactly the floats
 */
#ifndef TAKT_KERNEL_GGML_FILL_H
#define TAKT_KERNEL_GGML_FILL_H

#include "kernel/ggml_panels/ggml_panels.h"
#include "kernel/kernel.h"

typedef struct takt_ggml_fill {
    takt_ggml_format format;
    size_t count, blocks; /* panels, and blocks of a column */
    size_t first, deep;   /* the blocks that are wanted: the first, and how many */
    const void *panels;
    float *dst;
    size_t ld; /* floats from one k to the next, at least 16 * count */
} takt_ggml_fill;

typedef void takt_ggml_fill_fn(const takt_ggml_fill *g);

TAKT_KERNEL_FAMILY(ggml_fill, takt_ggml_fill_fn)

#endif
