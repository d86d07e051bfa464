/* gemm_f64_avx512.c - tiles of 14 x 16 and 9 x 24: as many sums over panels of B as registers hold.
 */
#include "kernel/gemm_f64/gemm_f64.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;
typedef uint64_t word;
typedef takt_gemm_f64 gemm;
typedef takt_epilogue_f64 epilogue;
typedef __m512d vec;
typedef __mmask8 v_mask;
typedef __m512d_u vec_in_memory; /* anywhere */
enum { WIDE = 8, NARROW = 8, PANEL = 8, PANELS = 3, MR = 14, QUAD = 2, W = 8 };
enum { A_BYTES = 768 << 10, B_BYTES = 384 << 10, MASKED = 1 };
enum { STREAMS = 8, FAR_STREAMS = 2, PREFETCH_FAR = 0, PREFETCH_NEAR = 0 };
#define BELOW 1

#define V_BROADCAST "vbroadcastsd"
#define V_FMA "vfmadd231pd"
#define V_EMBED "%{1to8%}"
#define V_SECOND "8" /* bytes of an element, of two and of three */
#define V_THIRD "16"
#define V_FOURTH "24"
#define v_zero() _mm512_setzero_pd()
#define v_load(p) _mm512_loadu_pd(p)
#define v_store(p, x) _mm512_storeu_pd(p, x)
#define v_set(x) _mm512_set1_pd(x)
#define v_fma(a, b, c) _mm512_fmadd_pd(a, b, c)
#define v_add(a, b) _mm512_add_pd(a, b)
#define v_max(a, b) _mm512_max_pd(a, b)
#define v_min(a, b) _mm512_min_pd(a, b)
#define v_clear(a, m) _mm512_andnot_pd(m, a)
#define v_or(a, b) _mm512_or_pd(a, b)
#define v_all() (v_mask) ~0u
#define v_first(n) (v_mask)((1u << (n)) - 1)
#define v_load_some(m, p) _mm512_maskz_loadu_pd(m, p)
#define v_store_some(m, p, x) _mm512_mask_storeu_pd(p, m, x)

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f32/blocked.inc"

#include "kernel/gemm_f64/stored.inc"

#include "kernel/gemm_f32/pack_rows.inc"

#include "kernel/gemm_f32/vector_tile.inc"

HEIGHTS_2_TO_14(TILE)
HEIGHTS_2_TO_14(THIN)
HEIGHTS_2_TO_9(BROAD_TILE)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    static void (*const by_rows[2][MR - 1])(const tile_job *) = {{HEIGHTS_2_TO_14(THIN_NAME)},
                                                                 {HEIGHTS_2_TO_14(TILE_NAME)}};
    static void (*const broad[BROAD - 1])(const tile_job *) = {HEIGHTS_2_TO_9(BROAD_NAME)};
    if (cols == 3 * PANEL)
        broad[rows - 2](t);
    else
        by_rows[cols / PANEL - 1][rows - 2](t);
}

static const takt_gemm_f64_info info = {MR, {WIDE, NARROW}, scratch_bytes, BROAD, A_BYTES};

TAKT_KERNELS(gemm_f64, TAKT_KERNEL(gemm_f64, "avx512_14x16", 30, run, &info));
