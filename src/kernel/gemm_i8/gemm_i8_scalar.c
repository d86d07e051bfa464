/* gemm_i8_scalar.c - the contract, word for word, on p16x4. */
#include "kernel/gemm_i8/gemm_i8.h"

#include "kernel/gemm_i8/requant.inc"

static uint32_t dot(const takt_gemm_i8 *g, size_t row, size_t col)
{
    const takt_i8_image *m = g->image;
    const uint8_t *a =
        m == NULL ? (const uint8_t *)g->a + row * g->a_row : takt_i8_image_row(m, row);
    const int8_t *b = g->b + col / 16 * g->b_panel + col % 16 * 4;
    const int32_t b_zero = g->b_zero ? g->b_zero[col] : 0;
    uint32_t sum = 0;
    for (size_t p = 0; p < g->k; p++) {
        const uint8_t byte = m == NULL ? a[p] : a[m->at[p / m->channels] + p % m->channels];
        const int32_t x = g->a_unsigned ? byte : (int8_t)byte;
        sum += ((uint32_t)x - (uint32_t)g->a_zero) *
               ((uint32_t)b[p / 4 * 64 + p % 4] - (uint32_t)b_zero);
    }
    return g->requant->bias ? sum + (uint32_t)g->requant->bias[col] : sum;
}

static void run(const takt_gemm_i8 *g)
{
    for (size_t row = 0; row < g->m; row++)
        for (size_t col = 0; col < g->n && !takt_poll_stops(g->poll); col++) {
            uint32_t x = dot(g, row, col);
            requant_row(g, &x, row, col, 1);
        }
    requant_tail(g, 0, 0, g->m, g->n);
}

static size_t scratch_bytes(const takt_gemm_i8 *g)
{
    (void)g;
    return 0;
}

static const takt_gemm_i8_info info = {
    .rows = 1,
    .columns = 16,
    .group = 4,
    .scratch_bytes = scratch_bytes,
    .image = 1,
    .few_image = 1,
};

TAKT_KERNELS(gemm_i8, TAKT_KERNEL(gemm_i8, "scalar", 0, run, &info));
