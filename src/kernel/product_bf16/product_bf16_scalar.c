/* product_bf16_scalar.c - what products of bf16 rows are, one sum at a time. */
#include <math.h>
#include <string.h>

#include "kernel/product_bf16/product_bf16.h"
#include "kernel/product_bf16/round.h"

enum { P = 16, CHUNK = 1024 };

static const takt_panels panels = {P, P};

static float sum(const takt_product_bf16 *g, size_t row, size_t col)
{
    const takt_bf16_image *m = g->image;
    const size_t column = g->b_first + col, all = takt_panels_columns(panels, g->b_n);
    float total = 0;
    for (size_t p = 0; p < g->k; p++) {
        const size_t chunk = p / CHUNK * CHUNK, k = g->k - chunk < CHUNK ? g->k - chunk : CHUNK;
        const uint16_t *b = g->b + chunk * all + column / P * P * k + (p - chunk) * P;
        const uint16_t *a = m == NULL ? g->a + row * g->a_row + p : takt_bf16_image_at(m, row, p);
        total = fmaf(widen(*a), widen(b[column % P]), total);
    }
    return total;
}

static void run(const takt_product_bf16 *g)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++) {
            float x = sum(g, i, j);
            x += g->bias != NULL ? g->bias[j] : 0;
            x += g->residual != NULL ? widen(g->residual[i * g->ldr + j]) : 0;
            g->c[i * g->ldc + j] = takt_bf16_round(clip(x, g->lo, g->hi));
        }
}

static size_t scratch_bytes(size_t m, size_t n, size_t k)
{
    (void)m;
    (void)n;
    (void)k;
    return 0;
}

static const takt_product_bf16_info info = {{{1, {P, P}, NULL, 0, 0}, 1, CHUNK, 1, 0, 0},
                                            scratch_bytes};

TAKT_KERNELS(product_bf16, TAKT_KERNEL(product_bf16, "scalar", 0, run, &info));
