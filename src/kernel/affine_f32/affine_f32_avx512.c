/* affine_f32_avx512.c - sixteen elements at a time; divisions as in affine_f32_neon.c. */
#include "kernel/affine_f32/affine_f32.h"

#include <immintrin.h>

#include "kernel/affine_f32/plain.inc"

#define INLINE static inline __attribute__((always_inline))

typedef struct bounds {
    __m512d inverse;
    __m512 scale, low, high;
    __m512i zero;
} bounds;

INLINE bounds bounds_of(const takt_affine_f32 *a, int32_t lo, int32_t hi)
{
    return (bounds){_mm512_set1_pd(1 / (double)a->scale), _mm512_set1_ps(a->scale),
                    _mm512_set1_ps((float)(lo - a->zero)), _mm512_set1_ps((float)(hi - a->zero)),
                    _mm512_set1_epi32(a->zero)};
}

/* Saturated; NaN is 0. */
INLINE __m512 kept(__m512 q, const bounds *b)
{
    const __m512 known = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(q, q, _CMP_ORD_Q), q);
    return _mm512_min_ps(_mm512_max_ps(known, b->low), b->high);
}

INLINE __m256 divided(__m256 x, const bounds *b)
{
    return _mm512_cvtpd_ps(_mm512_mul_pd(_mm512_cvtps_pd(x), b->inverse));
}

/* Saturated, rounded half to even, and with their zero point. */
INLINE __m128i levels(const float *x, const bounds *b)
{
    const __m256 first = divided(_mm256_loadu_ps(x), b),
                 second = divided(_mm256_loadu_ps(x + 8), b);
    const __m512 q = _mm512_insertf32x8(_mm512_castps256_ps512(first), second, 1);
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_cvtps_epi32(kept(q, b)), b->zero));
}

static size_t quantise(const takt_affine_f32 *a)
{
    const float *x = a->x;
    uint8_t *y = a->y;
    const int32_t lo = a->is_unsigned ? 0 : -128, hi = a->is_unsigned ? 255 : 127;
    const bounds b = bounds_of(a, lo, hi);
    size_t i = 0;
    for (; i + 16 <= a->n; i += 16)
        _mm_storeu_si128((__m128i *)(void *)(y + i), levels(x + i, &b));
    return i;
}

/* The same with halves away from zero: the fraction is exact, and so is its double. */
INLINE __m128i away_levels(const float *x, const bounds *b, const bool is_product)
{
    const __m512 v = _mm512_loadu_ps(x);
    const __m512 q = kept(is_product ? _mm512_mul_ps(v, b->scale) : _mm512_div_ps(v, b->scale), b);
    const __m512i whole = _mm512_cvttps_epi32(q);
    const __m512 rest = _mm512_sub_ps(q, _mm512_cvtepi32_ps(whole));
    const __m512i more = _mm512_cvttps_epi32(_mm512_add_ps(rest, rest));
    return _mm512_cvtepi32_epi8(_mm512_add_epi32(_mm512_add_epi32(whole, more), b->zero));
}

static size_t away_all(const takt_affine_f32 *a)
{
    const float *x = a->x;
    uint8_t *y = a->y;
    const bounds b = bounds_of(a, a->lo, a->hi);
    size_t i = 0;
    for (; a->is_product && i + 16 <= a->n; i += 16)
        _mm_storeu_si128((__m128i *)(void *)(y + i), away_levels(x + i, &b, true));
    for (; !a->is_product && i + 16 <= a->n; i += 16)
        _mm_storeu_si128((__m128i *)(void *)(y + i), away_levels(x + i, &b, false));
    return i;
}

static size_t dequantise(const takt_affine_f32 *a)
{
    const uint8_t *x = a->x;
    float *y = a->y;
    const __m512 scale = _mm512_set1_ps(a->scale);
    const __m512i zero = _mm512_set1_epi32(a->zero);
    size_t i = 0;
    for (; i + 16 <= a->n; i += 16) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(x + i));
        const __m512i wide =
            a->is_unsigned ? _mm512_cvtepu8_epi32(bytes) : _mm512_cvtepi8_epi32(bytes);
        _mm512_storeu_ps(y + i,
                         _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(wide, zero)), scale));
    }
    return i;
}

/* Works on a copy, so that the compiler knows that no store changes the arguments. */
static void run(const takt_affine_f32 *given)
{
    const takt_affine_f32 a = *given;
    plain(&a, a.kind == TAKT_AFFINE_QUANTISE     ? quantise(&a)
              : a.kind == TAKT_AFFINE_DEQUANTISE ? dequantise(&a)
              : a.kind == TAKT_AFFINE_AWAY       ? away_all(&a)
                                                 : 0);
}

TAKT_KERNELS(affine_f32, TAKT_KERNEL(affine_f32, "avx512", 30, run, NULL));
