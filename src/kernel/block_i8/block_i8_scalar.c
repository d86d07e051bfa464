/* block_i8_scalar.c - the contract, word for word. */
#include "kernel/block_i8/block_i8.h"

#include <math.h>

#include "kernel/blocks/read.h"

static float greatest(const float *a, size_t n)
{
    float most = 0;
    for (size_t i = 0; i < n; i++) {
        const float x = fabsf(a[i]);
        most = most != most || x != x ? NAN : x > most ? x : most;
    }
    return most;
}

static int8_t rounded(float x)
{
    if (x != x)
        return 0;
    return (int8_t)(x > 127 ? 127 : x < -127 ? -127 : rintf(x));
}

static size_t end_of(const takt_blocks *b, size_t block)
{
    const size_t end = (block + 1) * b->block;
    return end < b->k ? end : b->k;
}

static void quantise(const takt_blocks *b, const float *a, int8_t *q, float *dx)
{
    for (size_t i = 0; i < takt_blocks_count(b); i++) {
        const size_t first = i * b->block, end = end_of(b, i);
        const float most = greatest(a + first, end - first), inverse = 127 / most;
        dx[i] = most / 127;
        for (size_t k = first; k < end; k++)
            q[k] = rounded(a[k] * inverse);
    }
}

static float dot(const takt_blocks *b, const int8_t *q, size_t column, size_t block)
{
    const uint32_t zero = block_level(b, column, block);
    uint32_t sum = 0;
    for (size_t k = block * b->block; k < end_of(b, block); k++)
        sum += (uint32_t)q[k] * (block_weight(b, column, k) - zero);
    return (float)(int32_t)sum;
}

static float element(const takt_blocks *b, const int8_t *q, const float *dx, size_t column)
{
    const size_t blocks = takt_blocks_count(b);
    float sum = 0;
    for (size_t from = 0; from < blocks; from += TAKT_GEMM_CHUNK) {
        float chunk = 0;
        for (size_t i = from; i < blocks && i < from + TAKT_GEMM_CHUNK; i++)
            chunk = fmaf(block_scale(b, column, i) * dx[i], dot(b, q, column, i), chunk);
        sum = from == 0 ? chunk : sum + chunk;
    }
    return sum;
}

static void run(const takt_block_i8 *g)
{
    float *dx = g->scratch;
    int8_t *q = (int8_t *)(dx + takt_blocks_count(&g->b));
    for (size_t row = 0; row < g->m; row++) {
        quantise(&g->b, g->a + row * g->a_row, q, dx);
        for (size_t column = 0; column < g->b.n; column++) {
            if (column % 16 == 0 && takt_poll_stops(g->poll))
                return;
            const float sum = element(&g->b, q, dx, column);
            g->c[row * g->ldc + column] = g->bias ? sum + g->bias[column] : sum;
        }
    }
}

static size_t scratch_bytes(const takt_block_i8 *g)
{
    return takt_blocks_count(&g->b) * sizeof(float) + g->b.k;
}

static const takt_block_i8_info info = {1, scratch_bytes, NULL, NULL};

TAKT_KERNELS(block_i8, TAKT_KERNEL(block_i8, "scalar", 0, run, &info));
