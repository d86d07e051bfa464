/* gemm_f32_scalar.c - the contract, word for word: these are the bits. */
#include "kernel/gemm_f32/gemm_f32.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;

#include "kernel/gemm_f32/epilogue.h"

enum { P = 16, CHUNK = TAKT_GEMM_CHUNK };

static const takt_panels panels = {P, P};

/* acc[P] of one row and one panel over the chunk from k = first. */
static void chunk(const takt_gemm_f32 *g, size_t row, size_t panel, size_t first, float *acc)
{
    const size_t k = g->k - first < CHUNK ? g->k - first : CHUNK;
    const float *a = g->a + row * g->a_row + first * g->a_col;
    const size_t col = g->b_first + panel * P;
    const float *b =
        g->stored ? g->scratch : g->b + first * takt_panels_columns(panels, g->b_n) + col * k;
    if (g->stored)
        g->stored->widen(g->stored, &(takt_gemm_piece){first, k, col, P}, g->scratch);
    for (size_t j = 0; j < P; j++)
        acc[j] = 0;
    for (size_t p = 0; p < k; p++)
        for (size_t j = 0; j < P; j++)
            acc[j] = fmaf(a[p * g->a_col], b[p * P + j], acc[j]);
}

static void row_of_panel(const takt_gemm_f32 *g, size_t row, size_t col)
{
    const size_t cols = g->n - col < P ? g->n - col : P;
    float total[P], acc[P];
    chunk(g, row, col / P, 0, total);
    for (size_t p = CHUNK; p < g->k; p += CHUNK) {
        chunk(g, row, col / P, p, acc);
        add_row(total, acc, P);
    }
    if (g->epilogue)
        finish_row(g->epilogue, total, row, col, cols);
    memcpy(g->c + row * g->ldc + col, total, cols * sizeof *total);
}

static void run(const takt_gemm_f32 *g)
{
    for (size_t row = 0; row < g->m; row++)
        for (size_t col = 0; col < g->n; col += P)
            row_of_panel(g, row, col);
    if (g->epilogue && g->epilogue->tail && g->m && g->n)
        g->epilogue->tail(g->epilogue->user, g->c, g->ldc, 0, 0, g->m, g->n);
}

static size_t scratch_bytes(const takt_gemm_f32 *g)
{
    return g->stored && g->m && g->n ? P * CHUNK * sizeof(float) : 0;
}

static const takt_gemm_f32_info info = {1, {P, P}, scratch_bytes};

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "scalar", 0, run, &info));
