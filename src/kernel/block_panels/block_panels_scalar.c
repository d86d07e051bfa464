/* block_panels_scalar.c - the contract, word for word. */
#include "kernel/block_panels/block_panels.h"

#include "kernel/blocks/read.h"

static void run(const takt_block_panels *g)
{
    const size_t n = g->b.n, count = takt_panels_count(g->panels, n);
    float *to = g->dst;
    for (size_t p = 0; p < count; p++) {
        const size_t from = takt_panels_column(g->panels, n, p);
        const size_t end = takt_panels_column(g->panels, n, p + 1);
        for (size_t k = g->first; k < g->first + g->k; k++)
            for (size_t column = from; column < end; column++)
                *to++ = column < n ? block_float(&g->b, column, k) : 0;
    }
}

TAKT_KERNELS(block_panels, TAKT_KERNEL(block_panels, "scalar", 0, run, NULL));
