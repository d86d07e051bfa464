/* planted_products.c - broken products of f16. */
#include <math.h>

#include "check.h"
#include "kernel/gemm_f16/gemm_f16.h"
#include "kernel/simd/half.h"
#include "planted.h"

#define ROW(family, name, function)                                                                \
    {                                                                                              \
        name, #family, (takt_kernel_fn *)(function)                                                \
    }

/* Does what the scalar kernel does, except for the planted mistake. */
typedef struct mistake {
    size_t without;     /* this many of the last k are skipped */
    bool narrow, plain; /* A is rounded to bf16; scales are not applied */
    size_t every;       /* products that are summed in f16 */
} mistake;

static float factor_of(const takt_gemm_f32 *g, const float *a, const mistake *x)
{
    float largest = 0;
    for (size_t p = 0; p < g->k; p++)
        if (fabsf(a[p * g->a_col]) > largest && isfinite(a[p * g->a_col]))
            largest = fabsf(a[p * g->a_col]);
    return x->plain ? 1 : takt_f16_power(takt_gemm_f16_exponent(largest));
}

static float sum_of(const takt_gemm_f32 *g, const float *a, size_t col, const mistake *x)
{
    const takt_gemm_f32_info *info =
        takt_kernel_find("gemm_f16", UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL)->info;
    const uint16_t *b = (const uint16_t *)g->stored->data + TAKT_F16_HEAD;
    const float factor = factor_of(g, a, x);
    const size_t columns = takt_panels_columns(info->panels, g->b_n), wide = info->panels.wide;
    float total = 0, part = 0;
    for (size_t p = 0; p + x->without < g->k; p++) {
        const size_t chunk = p / TAKT_F16_CHUNK * TAKT_F16_CHUNK, left = g->k - chunk;
        const size_t k = left < TAKT_F16_CHUNK ? left : TAKT_F16_CHUNK;
        const size_t at = chunk * columns + col / wide * wide * k + (p - chunk) * wide + col % wide;
        const float scaled = a[p * g->a_col] * factor;
        const float y =
            x->narrow ? half_from_bf16(half_to_bf16(scaled)) : half_from_f16(half_to_f16(scaled));
        part = half_from_f16(half_to_f16(fmaf(y, half_from_f16(b[at]), part)));
        if ((p + 1) % x->every != 0)
            continue;
        total += part;
        part = 0;
    }
    total += part;
    takt_gemm_f16_unscale(&total, 1, -(int16_t) * (const uint16_t *)g->stored->data);
    return total / factor;
}

/* Without an epilogue, which only the checks of whole numbers have. */
static void multiply(const takt_gemm_f32 *g, const mistake *x)
{
    for (size_t i = 0; i < g->m; i++)
        for (size_t j = 0; j < g->n; j++)
            g->c[i * g->ldc + j] = sum_of(g, g->a + i * g->a_row, g->b_first + j, x);
}

static bool has_epilogue(const takt_gemm_f32 *g)
{
    if (g->epilogue == NULL)
        return false;
    takt_kernel_as_gemm_f16(
        takt_kernel_find("gemm_f16", UINT32_C(1) << TAKT_ISA_scalar, NULL, 0, NULL))(g);
    return true;
}

static void forgets_the_last(const takt_gemm_f32 *g)
{
    const mistake x = {.without = g->k % 8 == 1, .every = TAKT_F16_SUM};
    if (!has_epilogue(g))
        multiply(g, &x);
}

static void eight_bits(const takt_gemm_f32 *g)
{
    const mistake x = {.narrow = true, .every = TAKT_F16_SUM};
    if (!has_epilogue(g))
        multiply(g, &x);
}

static void not_scaled(const takt_gemm_f32 *g)
{
    const mistake x = {.plain = true, .every = TAKT_F16_SUM};
    if (!has_epilogue(g))
        multiply(g, &x);
}

static void all_in_f16(const takt_gemm_f32 *g)
{
    const mistake x = {.every = 16 * TAKT_F16_SUM};
    if (!has_epilogue(g))
        multiply(g, &x);
}

static void leaves_powers(const takt_gemm_f32 *g)
{
    const mistake x = {.every = TAKT_F16_SUM};
    if (has_epilogue(g))
        return;
    multiply(g, &x);
    for (size_t i = 0; g->k > 0 && i < g->m; i++)
        if (factor_of(g, g->a + i * g->a_row, &x) > 0x1p40f)
            g->c[i * g->ldc] *= 2;
}

const planted_other planted_products[] = {
    ROW(gemm_f16, "the last k is forgotten", forgets_the_last),
    ROW(gemm_f16, "A has eight bits", eight_bits),
    ROW(gemm_f16, "rows are not scaled", not_scaled),
    ROW(gemm_f16, "all of k is summed in f16", all_in_f16),
    ROW(gemm_f16, "small rows keep a power of two", leaves_powers),
};

const size_t planted_product_count = sizeof planted_products / sizeof *planted_products;
