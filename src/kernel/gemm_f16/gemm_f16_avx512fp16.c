/* gemm_f16_avx512fp16.c - tiles of 12 x 64 by vfmadd of 32 f16, folded into f32 sums in C. */
#include "kernel/gemm_f16/gemm_f16.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

typedef float elem;
typedef uint32_t word;
typedef takt_epilogue_f32 epilogue;
enum { WIDE = 64, NARROW = 32, MR = 12, COPIES = 2, A_BYTES = 768 << 10 };

#include "kernel/gemm_f32/epilogue.inc"

#include "kernel/gemm_f16/blocked.inc"

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

static size_t strip_elems(size_t rows, size_t k)
{
    return COPIES * rows * k;
}

static float largest_of(const float *a, size_t k)
{
    __m512 most = _mm512_setzero_ps(), other = most;
    __mmask16 wrong = 0; /* a NaN, which a maximum may lose */
    size_t p = 0;
    for (; p + 32 <= k; p += 32) {
        const __m512 x = _mm512_abs_ps(_mm512_loadu_ps(a + p)),
                     y = _mm512_abs_ps(_mm512_loadu_ps(a + p + 16));
        wrong |= _mm512_cmp_ps_mask(x, y, _CMP_UNORD_Q);
        most = _mm512_max_ps(most, x);
        other = _mm512_max_ps(other, y);
    }
    for (; p < k; p += 16) {
        const __mmask16 there = k - p >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << (k - p)) - 1);
        const __m512 x = _mm512_abs_ps(_mm512_maskz_loadu_ps(there, a + p));
        wrong |= _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        most = _mm512_max_ps(most, x);
    }
    return wrong ? NAN : _mm512_reduce_max_ps(_mm512_max_ps(most, other));
}

/* Sixteen floats times a power of two; zeros beyond the end. */
INLINE __m256i sixteen(const float *a, size_t left, __m512 factor)
{
    const __mmask16 there = left >= 16 ? (__mmask16)0xffff : (__mmask16)((1u << left) - 1);
    const __m512 x = _mm512_mul_ps(_mm512_maskz_loadu_ps(there, a), factor);
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static void round_row(const float *a, size_t k, int exponent, uint16_t *to)
{
    const __m512 factor = _mm512_set1_ps(takt_f16_power(exponent));
    for (size_t p = 0; p < k; p += 16)
        _mm256_storeu_si256((__m256i *)(void *)(to + p), sixteen(a + p, k - p, factor));
}

/* To [k][rows], each element twice: pairs are broadcast by the load alone, elements are not. */
static void pack_strip(const takt_gemm_f32 *g, const strip *s, uint16_t *to)
{
    for (size_t r = 0; r < s->rows; r++) {
        const float *a = s->a + r * g->a_row;
        const __m512 factor = _mm512_set1_ps(takt_f16_power(s->exponent[r]));
        for (size_t p = 0; p < s->k; p += 16) {
            const size_t left = s->k - p < 16 ? s->k - p : 16;
            float part[16];
            uint16_t half[16];
            const float *from = a + p;
            if (g->a_col != 1) {
                for (size_t q = 0; q < left; q++)
                    part[q] = a[(p + q) * g->a_col];
                from = part;
            }
            _mm256_storeu_si256((__m256i *)(void *)half, sixteen(from, left, factor));
            for (size_t q = 0; q < left; q++)
                memcpy(to + 2 * ((p + q) * s->rows + r), (uint16_t[2]){half[q], half[q]}, 4);
        }
    }
}

/* to[32] (+)= x. */
INLINE void fold(float *to, __m512h x, const bool adds)
{
    const __m512i bits = _mm512_castph_si512(x);
    __m512 low = _mm512_cvtph_ps(_mm512_castsi512_si256(bits)),
           high = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1));
    if (adds) {
        low = _mm512_add_ps(_mm512_loadu_ps(to), low);
        high = _mm512_add_ps(_mm512_loadu_ps(to + 16), high);
    }
    _mm512_storeu_ps(to, low);
    _mm512_storeu_ps(to + 16, high);
}

INLINE void fold_row(float *to, const __m512h *acc, const size_t vectors, const bool adds)
{
    fold(to, acc[0], adds);
    if (vectors == 2)
        fold(to + 32, acc[1], adds);
}

INLINE __m512h all_lanes(const uint16_t *a)
{
    return _mm512_castsi512_ph(_mm512_set1_epi16((short)*a));
}

INLINE __m512h load(const uint16_t *b)
{
    return _mm512_loadu_ph(b);
}

/* At most SUM values of k. */
INLINE void piece(const tile_job *t, size_t first, size_t k, const size_t rows,
                  const size_t vectors)
{
    __m512h acc[MR][2];
    const uint16_t *a = t->a + COPIES * first * rows, *b = t->b + first * 32 * vectors;
    UNROLL for (size_t r = 0; r < rows; r++) acc[r][0] = acc[r][1] = _mm512_setzero_ph();
    for (size_t p = 0; p < k; p++, a += COPIES * rows, b += 32 * vectors) {
        const __m512h left = load(b), right = vectors == 2 ? load(b + 32) : left;
        UNROLL for (size_t r = 0; r < rows; r++)
        {
            int32_t pair;
            memcpy(&pair, a + COPIES * r, sizeof pair);
            const __m512h x = _mm512_castsi512_ph(_mm512_set1_epi32(pair));
            acc[r][0] = _mm512_fmadd_ph(x, left, acc[r][0]);
            if (vectors == 2)
                acc[r][1] = _mm512_fmadd_ph(x, right, acc[r][1]);
        }
    }
    float *c = t->c;
    const size_t ldc = t->ldc;
    if (t->adds || first > 0)
        UNROLL for (size_t r = 0; r < rows; r++) fold_row(c + r * ldc, acc[r], vectors, true);
    else
        UNROLL for (size_t r = 0; r < rows; r++) fold_row(c + r * ldc, acc[r], vectors, false);
}

INLINE void tile_fixed(const tile_job *t, const size_t rows, const size_t vectors)
{
    size_t first = 0;
    do {
        piece(t, first, least(t->steps - first, SUM), rows, vectors);
        first += SUM;
    } while (first < t->steps);
}

#include "kernel/simd/heights.h"

HEIGHTS_1_TO_12(TILE)
HEIGHTS_1_TO_12(THIN)

static void tile(size_t rows, size_t cols, const tile_job *t)
{
    static void (*const by_rows[2][MR])(const tile_job *) = {{HEIGHTS_1_TO_12(THIN_NAME)},
                                                             {HEIGHTS_1_TO_12(TILE_NAME)}};
    by_rows[cols == WIDE][rows - 1](t);
}

/* One row: eight products in f16, then f32, over all of k; `count` panels alternately. */
INLINE void row_fixed(const row_job *r, const size_t count, const size_t vectors)
{
    __m512 sum[4][4];
    const size_t width = 32 * vectors;
    UNROLL for (size_t i = 0; i < count; i++) UNROLL for (size_t j = 0; j < 2 * vectors; j++)
        sum[i][j] = _mm512_setzero_ps();
    for (size_t p = 0; p < r->k; p += 8) {
        const size_t steps = least(r->k - p, 8);
        UNROLL for (size_t i = 0; i < count; i++)
        {
            const uint16_t *b = r->b + i * r->b_step + p * width;
            __m512h part[2] = {_mm512_setzero_ph(), _mm512_setzero_ph()};
            for (size_t q = 0; q < steps; q++, b += width) {
                const __m512h x = all_lanes(r->a + p + q);
                UNROLL for (size_t j = 0; j < vectors; j++) part[j] =
                    _mm512_fmadd_ph(x, load(b + 32 * j), part[j]);
            }
            UNROLL for (size_t j = 0; j < vectors; j++)
            {
                const __m512i bits = _mm512_castph_si512(part[j]);
                sum[i][2 * j] =
                    _mm512_add_ps(sum[i][2 * j], _mm512_cvtph_ps(_mm512_castsi512_si256(bits)));
                sum[i][2 * j + 1] = _mm512_add_ps(
                    sum[i][2 * j + 1], _mm512_cvtph_ps(_mm512_extracti64x4_epi64(bits, 1)));
            }
        }
    }
    UNROLL for (size_t i = 0; i < count; i++) UNROLL for (size_t j = 0; j < 2 * vectors; j++)
    {
        float *to = r->c + i * r->c_step + 16 * j;
        _mm512_storeu_ps(to, r->adds ? _mm512_add_ps(_mm512_loadu_ps(to), sum[i][j]) : sum[i][j]);
    }
}

/* There are never four narrow panels. */
static void row_panels(const row_job *r, size_t count, size_t cols)
{
    if (cols == NARROW)
        row_fixed(r, 1, 1);
    else if (count == 4)
        row_fixed(r, 4, 2);
    else
        row_fixed(r, 1, 2);
}

static const takt_gemm_f32_info info = {MR, {WIDE, NARROW}, scratch_bytes, 0, 0};

TAKT_KERNELS(gemm_f16, TAKT_KERNEL(gemm_f16, "avx512fp16_12x64", 40, run, &info));
