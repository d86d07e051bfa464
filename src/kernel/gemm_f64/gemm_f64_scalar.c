/* gemm_f64_scalar.c - the contract, word for word: these are the bits. */
#include "kernel/gemm_f64/gemm_f64.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;
typedef uint64_t word;
typedef takt_epilogue_f64 epilogue;
typedef takt_gemm_f64 gemm;

#include "kernel/gemm_f32/epilogue.inc"

enum { P = 8, CHUNK = TAKT_GEMM_CHUNK };

static const takt_panels panels = {P, P};

static const double *panel_of(const gemm *g, size_t first, size_t k, size_t col)
{
    return g->b + first * takt_panels_columns(panels, g->b_n) + col * k;
}

#define FMA fma
#include "kernel/gemm_f32/scalar_body.inc"

static size_t scratch_bytes(const takt_gemm_f64 *g)
{
    (void)g;
    return 0;
}

static const takt_gemm_f64_info info = {1, {P, P}, scratch_bytes, 0, 0};

TAKT_KERNELS(gemm_f64, TAKT_KERNEL(gemm_f64, "scalar", 0, run, &info));
