/* gemm_f32_avx2.c - tiles of 6 x 16: twelve sums, two vectors of B, two of A. */
#include "kernel/gemm_f32/gemm_f32.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_gemm_f32 gemm;
typedef takt_epilogue_f32 epilogue;
typedef __m256 vec;
typedef int v_mask;             /* unused: tiles are whole */
typedef __m256_u vec_in_memory; /* anywhere */
enum { WIDE = 16, NARROW = 16, PANEL = 16, PANELS = 1, MR = 6, QUAD = 4, W = 8 };
enum { A_BYTES = 128 << 10, B_BYTES = 96 << 10, MASKED = 0, HALF_ROWS = 1 };
enum { STREAMS = 4, FAR_STREAMS = STREAMS, PREFETCH_FAR = 0, PREFETCH_NEAR = 0 };
#define BELOW 1

#define V_BROADCAST "vbroadcastss"
#define V_FMA "vfmadd231ps"
#define V_SECOND "4" /* bytes of an element, of two and of three */
#define V_THIRD "8"
#define V_FOURTH "12"
#define v_zero() _mm256_setzero_ps()
#define v_load(p) _mm256_loadu_ps(p)
#define v_store(p, x) _mm256_storeu_ps(p, x)
#define v_set(x) _mm256_set1_ps(x)
#define v_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define v_add(a, b) _mm256_add_ps(a, b)
#define v_max(a, b) _mm256_max_ps(a, b)
#define v_min(a, b) _mm256_min_ps(a, b)
#define v_clear(a, m) _mm256_andnot_ps(m, a)
#define v_or(a, b) _mm256_or_ps(a, b)
#define v_load16(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define v_f16(p) _mm256_cvtph_ps(v_load16(p))
#define v_bf16(p) _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v_load16(p)), 16))
#define v_all() 0
#define v_first(n) 0
#define v_load_some(m, p) ((void)(m), v_load(p))
#define v_store_some(m, p, x) ((void)(m), v_store(p, x))

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f32/blocked.inc"

#include "kernel/gemm_f32/stored.inc"

#include "kernel/gemm_f32/pack_rows.inc"

#include "kernel/gemm_f32/vector_tile.inc"

#include "kernel/gemm_f32/vector_half.inc"

HEIGHTS_2_TO_6(TILE)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    static void (*const by_rows[])(const tile_job *) = {HEIGHTS_2_TO_6(TILE_NAME)};
    (void)cols;
    by_rows[rows - 2](t);
}

static const takt_gemm_f32_info info = {MR, {WIDE, NARROW}, scratch_bytes, 0, 0};

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "avx2_6x16", 20, run, &info));
