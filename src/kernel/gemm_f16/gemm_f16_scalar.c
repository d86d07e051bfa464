/* gemm_f16_scalar.c - what products of f16 compute, one at a time, summed in f32. */
#include "kernel/gemm_f16/gemm_f16.h"

#include <math.h>
#include <string.h>

#include "kernel/simd/half.h"

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;

#include "kernel/gemm_f32/epilogue.inc"

enum { P = 16, CHUNK = TAKT_F16_CHUNK };

static const takt_panels panels = {P, P};

static int exponent_of_row(const takt_gemm_f32 *g, const float *a)
{
    float largest = 0;
    for (size_t p = 0; p < g->k; p++) {
        const float size = fabsf(a[p * g->a_col]);
        largest = size > largest && isfinite(size) ? size : largest;
    }
    return takt_gemm_f16_exponent(largest);
}

/* total[P] += one chunk of k from `first` on. */
static void chunk(const takt_gemm_f32 *g, const float *a, float factor, size_t col, size_t first,
                  float *total)
{
    const size_t k = g->k - first < CHUNK ? g->k - first : CHUNK;
    const uint16_t *b = (const uint16_t *)g->stored->data + TAKT_F16_HEAD +
                        first * takt_panels_columns(panels, g->b_n) + (g->b_first + col) * k;
    for (size_t p = 0; p < k; p++) {
        const float x = half_from_f16(half_to_f16(a[(first + p) * g->a_col] * factor));
        for (size_t j = 0; j < P; j++)
            total[j] = fmaf(x, half_from_f16(b[p * P + j]), total[j]);
    }
}

static void run(const takt_gemm_f32 *g)
{
    const int packed = (int16_t) * (const uint16_t *)g->stored->data;
    for (size_t row = 0; row < g->m; row++) {
        const float *a = g->a + row * g->a_row;
        const int e = exponent_of_row(g, a);
        for (size_t col = 0; col < g->n; col += P) {
            const size_t cols = g->n - col < P ? g->n - col : P;
            float total[P] = {0};
            for (size_t p = 0; p < g->k; p += CHUNK)
                chunk(g, a, takt_f16_power(e), col, p, total);
            takt_gemm_f16_unscale(total, P, -e - packed);
            if (g->epilogue)
                finish_row(g->epilogue, total, row, col, cols);
            memcpy(g->c + row * g->ldc + col, total, cols * sizeof *total);
        }
    }
    if (g->epilogue && g->epilogue->tail && g->m && g->n)
        g->epilogue->tail(g->epilogue->user, g->c, g->ldc, 0, 0, g->m, g->n);
}

static size_t scratch_bytes(const takt_gemm_f32 *g)
{
    (void)g;
    return 0;
}

static const takt_gemm_f32_info info = {1, {P, P}, scratch_bytes, 0, 0};

TAKT_KERNELS(gemm_f16, TAKT_KERNEL(gemm_f16, "scalar", 0, run, &info));
