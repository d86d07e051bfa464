/* direct_f32_scalar.c - the contract, word for word: these are the bits. */
#include "kernel/direct_f32/direct_f32.h"

#include <math.h>

static float right(const takt_direct_f32 *g, size_t p, size_t j)
{
    return g->b_at != NULL ? g->b[g->b_at[p] + j] : g->b[p * g->b_row + j * g->b_col];
}

static float element(const takt_direct_f32 *g, size_t i, size_t j)
{
    float total = 0;
    for (size_t first = 0; first < g->k; first += TAKT_GEMM_CHUNK) {
        float sum = 0;
        for (size_t p = first; p < g->k && p < first + TAKT_GEMM_CHUNK; p++)
            sum = fmaf(g->a[i * g->a_row + p], right(g, p, j), sum);
        total = first == 0 ? sum : total + sum;
    }
    return total;
}

static void run(const takt_direct_f32 *g)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n && (j % 256 != 0 || !takt_poll_stops(g->poll)); j++)
            g->c[i * g->ldc + j] = element(g, i, j);
}

TAKT_KERNELS(direct_f32, TAKT_KERNEL(direct_f32, "scalar", 0, run, NULL));
