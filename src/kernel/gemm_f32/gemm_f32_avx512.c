/* gemm_f32_avx512.c - tiles of 14 x 32 and 9 x 48: as many sums over panels of B as registers hold.
 */
#include "kernel/gemm_f32/gemm_f32.h"

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_gemm_f32 gemm;
typedef takt_epilogue_f32 epilogue;
typedef __m512 vec;
typedef __mmask16 v_mask;
typedef __m512_u vec_in_memory; /* anywhere */
enum { WIDE = 16, NARROW = 16, PANEL = 16, PANELS = 3, MR = 14, QUAD = 4, W = 16 };
enum { A_BYTES = 768 << 10, B_BYTES = 384 << 10, MASKED = 1, HALF_ROWS = 1 };
enum { STREAMS = 8, FAR_STREAMS = 2, PREFETCH_FAR = 16 << 20, PREFETCH_NEAR = 0 };
#define BELOW 1
#define PACKS_COLUMNS 1

#define V_BROADCAST "vbroadcastss"
#define V_FMA "vfmadd231ps"
#define V_EMBED "%{1to16%}"
#define V_SECOND "4" /* bytes of an element, of two and of three */
#define V_THIRD "8"
#define V_FOURTH "12"
#define v_zero() _mm512_setzero_ps()
#define v_load(p) _mm512_loadu_ps(p)
#define v_store(p, x) _mm512_storeu_ps(p, x)
#define v_set(x) _mm512_set1_ps(x)
#define v_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define v_add(a, b) _mm512_add_ps(a, b)
#define v_max(a, b) _mm512_max_ps(a, b)
#define v_min(a, b) _mm512_min_ps(a, b)
#define v_clear(a, m) _mm512_andnot_ps(m, a)
#define v_or(a, b) _mm512_or_ps(a, b)
#define v_load16(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define v_f16(p) _mm512_cvtph_ps(v_load16(p))
#define v_bf16(p) _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v_load16(p)), 16))
#define v_all() (v_mask) ~0u
#define v_first(n) (v_mask)((1u << (n)) - 1)
#define v_load_some(m, p) _mm512_maskz_loadu_ps(m, p)
#define v_store_some(m, p, x) _mm512_mask_storeu_ps(p, m, x)

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f32/blocked.inc"

#include "kernel/gemm_f32/stored.inc"

#include "kernel/gemm_f32/pack_rows.inc"

#include "kernel/gemm_f32/vector_tile.inc"

#include "kernel/gemm_f32/vector_half.inc"

#include "kernel/gemm_f32/pack_columns.inc"

HEIGHTS_2_TO_14(TILE)
HEIGHTS_2_TO_14(THIN)
HEIGHTS_2_TO_9(BROAD_TILE)

#include "kernel/gemm_f32/far_tile.inc"

HEIGHTS_2_TO_14(FAR_TILE)
HEIGHTS_2_TO_9(FAR_BROAD)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    static void (*const by_rows[3][MR - 1])(const tile_job *) = {{HEIGHTS_2_TO_14(THIN_NAME)},
                                                                 {HEIGHTS_2_TO_14(TILE_NAME)},
                                                                 {HEIGHTS_2_TO_14(FAR_TILE_NAME)}};
    static void (*const broad[2][BROAD - 1])(const tile_job *) = {{HEIGHTS_2_TO_9(BROAD_NAME)},
                                                                  {HEIGHTS_2_TO_9(FAR_BROAD_NAME)}};
    if (cols == 3 * PANEL)
        broad[t->is_far][rows - 2](t);
    else
        by_rows[cols == PANEL ? 0 : 1 + t->is_far][rows - 2](t);
}

static const takt_gemm_f32_info info = {MR, {WIDE, NARROW}, scratch_bytes, BROAD, A_BYTES};

TAKT_KERNELS(gemm_f32, TAKT_KERNEL(gemm_f32, "avx512_14x32", 30, run, &info));
