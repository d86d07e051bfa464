/* gemm_f32_scalar.c - the contract, word for word: these are the bits. */
#include "kernel/gemm_f32/gemm_f32.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;
typedef takt_gemm_f32 gemm;

#include "kernel/gemm_f32/epilogue.inc"

enum { P = 16, CHUNK = TAKT_GEMM_CHUNK };

static const takt_panels panels = {P, P};

static const float *panel_of(const gemm *g, size_t first, size_t k, size_t col)
{
    if (!g->stored)
        return g->b + first * takt_panels_columns(panels, g->b_n) + col * k;
    g->stored->widen(g->stored, &(takt_gemm_piece){first, k, col, P}, g->scratch);
    return g->scratch;
}

#define FMA fmaf
#include "kernel/gemm_f32/scalar_body.inc"

static size_t scratch_bytes(const takt_gemm_f32 *g)
{
    return g->stored && g->m && g->n ? P * CHUNK * sizeof(float) : 0;
}

static const takt_gemm_f32_info info = {1, {P, P}, scratch_bytes, 0, 0};

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "scalar", 0, run, &info));
