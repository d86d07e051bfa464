/* gemm_f64_avx2.c - tiles of 6 x 8: twelve sums, two vectors of B, two of A. */
#include "kernel/gemm_f64/gemm_f64.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double elem;
typedef uint64_t word;
typedef takt_gemm_f64 gemm;
typedef takt_epilogue_f64 epilogue;
typedef __m256d vec;
typedef int v_mask;              /* unused: tiles are whole */
typedef __m256d_u vec_in_memory; /* anywhere */
enum { WIDE = 8, NARROW = 8, PANEL = 8, PANELS = 1, MR = 6, QUAD = 2, W = 4 };
enum { A_BYTES = 128 << 10, B_BYTES = 96 << 10, MASKED = 0 };
enum { STREAMS = 4, FAR_STREAMS = STREAMS, PREFETCH_FAR = 0, PREFETCH_NEAR = 0 };
#define BELOW 1

#define V_BROADCAST "vbroadcastsd"
#define V_FMA "vfmadd231pd"
#define V_SECOND "8" /* bytes of an element, of two and of three */
#define V_THIRD "16"
#define V_FOURTH "24"
#define v_zero() _mm256_setzero_pd()
#define v_load(p) _mm256_loadu_pd(p)
#define v_store(p, x) _mm256_storeu_pd(p, x)
#define v_set(x) _mm256_set1_pd(x)
#define v_fma(a, b, c) _mm256_fmadd_pd(a, b, c)
#define v_add(a, b) _mm256_add_pd(a, b)
#define v_max(a, b) _mm256_max_pd(a, b)
#define v_min(a, b) _mm256_min_pd(a, b)
#define v_clear(a, m) _mm256_andnot_pd(m, a)
#define v_or(a, b) _mm256_or_pd(a, b)
#define v_all() 0
#define v_first(n) 0
#define v_load_some(m, p) ((void)(m), v_load(p))
#define v_store_some(m, p, x) ((void)(m), v_store(p, x))

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f32/blocked.inc"

#include "kernel/gemm_f64/stored.inc"

#include "kernel/gemm_f32/pack_rows.inc"

#include "kernel/gemm_f32/vector_tile.inc"

HEIGHTS_2_TO_6(TILE)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    static void (*const by_rows[])(const tile_job *) = {HEIGHTS_2_TO_6(TILE_NAME)};
    (void)cols;
    by_rows[rows - 2](t);
}

static const takt_gemm_f64_info info = {MR, {WIDE, NARROW}, scratch_bytes, 0, 0};

TAKT_KERNELS(gemm_f64, TAKT_KERNEL(gemm_f64, "avx2_6x8", 20, run, &info));
