/* gemm_bf16_scalar.c - what bf16 dot products compute, one product at a time. */
#include "kernel/gemm_bf16/gemm_bf16.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;

#include "kernel/gemm_f32/epilogue.inc"

enum { P = 16, CHUNK = 1024 };

static const takt_panels panels = {P, P};

static float widen(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
}

static float left(const takt_gemm_f32 *g, size_t row, size_t p)
{
    return widen(g->image != NULL ? *takt_bf16_image_at(g->image, row, p)
                                  : takt_bf16_round(g->a[row * g->a_row + p * g->a_col]));
}

/* total[P] += one chunk of k from `first` on. */
static void chunk(const takt_gemm_f32 *g, size_t row, size_t col, size_t first, float *total)
{
    const size_t k = g->k - first < CHUNK ? g->k - first : CHUNK;
    const uint16_t *b = (const uint16_t *)g->stored->data +
                        first * takt_panels_columns(panels, g->b_n) + (g->b_first + col) * k;
    for (size_t p = 0; p < k; p++) {
        const float x = left(g, row, first + p);
        for (size_t j = 0; j < P; j++)
            total[j] = fmaf(x, widen(b[p * P + j]), total[j]);
    }
}

static void run(const takt_gemm_f32 *g)
{
    for (size_t row = 0; row < g->m; row++)
        for (size_t col = 0; col < g->n; col += P) {
            const size_t cols = g->n - col < P ? g->n - col : P;
            float total[P] = {0};
            for (size_t p = 0; p < g->k; p += CHUNK)
                chunk(g, row, col, p, total);
            if (g->epilogue)
                finish_row(g->epilogue, total, row, col, cols);
            memcpy(g->c + row * g->ldc + col, total, cols * sizeof *total);
        }
    if (g->epilogue && g->epilogue->tail && g->m && g->n)
        g->epilogue->tail(g->epilogue->user, g->c, g->ldc, 0, 0, g->m, g->n);
}

static size_t scratch_bytes(const takt_gemm_f32 *g)
{
    (void)g;
    return 0;
}

static const takt_gemm_bf16_info info = {{1, {P, P}, scratch_bytes, 0, 0}, 1, CHUNK, 1, 0, 0};

TAKT_KERNELS(gemm_bf16, TAKT_KERNEL(gemm_bf16, "scalar", 0, run, &info));
