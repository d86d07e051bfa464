/* block_f32_scalar.c - the contract, word for word. */
#include "kernel/block_f32/block_f32.h"

#include <math.h>

#include "kernel/blocks/read.h"

static float element(const takt_blocks *b, const float *a, size_t column)
{
    float sum = 0;
    for (size_t from = 0; from < b->k; from += TAKT_GEMM_CHUNK) {
        float chunk = 0;
        for (size_t k = from; k < b->k && k < from + TAKT_GEMM_CHUNK; k++)
            chunk = fmaf(a[k], block_float(b, column, k), chunk);
        sum = from == 0 ? chunk : sum + chunk;
    }
    return sum;
}

static void run(const takt_block_f32 *g)
{
    for (size_t row = 0; row < g->m; row++)
        for (size_t column = 0; column < g->b.n; column++) {
            if (column % 16 == 0 && takt_poll_stops(g->poll))
                return;
            const float sum = element(&g->b, g->a + row * g->a_row, column);
            g->c[row * g->ldc + column] = g->bias ? sum + g->bias[column] : sum;
        }
}

TAKT_KERNELS(block_f32, TAKT_KERNEL(block_f32, "scalar", 0, run, NULL));
