/* affine_f32_avx2.c - eight elements at a time; divisions as in affine_f32_neon.c. */
#include "kernel/affine_f32/affine_f32.h"

#include <immintrin.h>

#include "kernel/affine_f32/plain.inc"

#define INLINE static inline __attribute__((always_inline))

typedef struct bounds {
    __m256d inverse;
    __m256 scale, low, high;
    __m256i zero;
} bounds;

INLINE bounds bounds_of(const takt_affine_f32 *a, int32_t lo, int32_t hi)
{
    return (bounds){_mm256_set1_pd(1 / (double)a->scale), _mm256_set1_ps(a->scale),
                    _mm256_set1_ps((float)(lo - a->zero)), _mm256_set1_ps((float)(hi - a->zero)),
                    _mm256_set1_epi32(a->zero)};
}

/* Saturated; NaN is 0. */
INLINE __m256 kept(__m256 q, const bounds *b)
{
    const __m256 known = _mm256_and_ps(q, _mm256_cmp_ps(q, q, _CMP_ORD_Q));
    return _mm256_min_ps(_mm256_max_ps(known, b->low), b->high);
}

/* Saturated, rounded half to even, and with their zero point. */
INLINE __m256i levels(const float *x, const bounds *b)
{
    const __m256 v = _mm256_loadu_ps(x);
    const __m128 first =
        _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(v)), b->inverse));
    const __m128 second =
        _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)), b->inverse));
    const __m256 q = _mm256_set_m128(second, first);
    return _mm256_add_epi32(_mm256_cvtps_epi32(kept(q, b)), b->zero);
}

/* The same with halves away from zero: the fraction is exact, and so is its double. */
INLINE __m256i away_levels(const float *x, const bounds *b, const bool is_product)
{
    const __m256 v = _mm256_loadu_ps(x);
    const __m256 q = kept(is_product ? _mm256_mul_ps(v, b->scale) : _mm256_div_ps(v, b->scale), b);
    const __m256i whole = _mm256_cvttps_epi32(q);
    const __m256 rest = _mm256_sub_ps(q, _mm256_cvtepi32_ps(whole));
    const __m256i more = _mm256_cvttps_epi32(_mm256_add_ps(rest, rest));
    return _mm256_add_epi32(_mm256_add_epi32(whole, more), b->zero);
}

/* Sixteen levels, which fit. */
INLINE void put(uint8_t *y, __m256i first, __m256i second, bool is_unsigned)
{
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(first, second), 0xd8);
    const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
    _mm_storeu_si128((__m128i *)(void *)y,
                     is_unsigned ? _mm_packus_epi16(low, high) : _mm_packs_epi16(low, high));
}

static size_t quantise(const takt_affine_f32 *a)
{
    const float *x = a->x;
    uint8_t *y = a->y;
    const int32_t lo = a->is_unsigned ? 0 : -128, hi = a->is_unsigned ? 255 : 127;
    const bounds b = bounds_of(a, lo, hi);
    size_t i = 0;
    for (; i + 16 <= a->n; i += 16)
        put(y + i, levels(x + i, &b), levels(x + i + 8, &b), a->is_unsigned);
    return i;
}

static size_t away_all(const takt_affine_f32 *a)
{
    const float *x = a->x;
    uint8_t *y = a->y;
    const bounds b = bounds_of(a, a->lo, a->hi);
    size_t i = 0;
    for (; a->is_product && i + 16 <= a->n; i += 16)
        put(y + i, away_levels(x + i, &b, true), away_levels(x + i + 8, &b, true), a->is_unsigned);
    for (; !a->is_product && i + 16 <= a->n; i += 16)
        put(y + i, away_levels(x + i, &b, false), away_levels(x + i + 8, &b, false),
            a->is_unsigned);
    return i;
}

static size_t dequantise(const takt_affine_f32 *a)
{
    const uint8_t *x = a->x;
    float *y = a->y;
    const __m256 scale = _mm256_set1_ps(a->scale);
    const __m256i zero = _mm256_set1_epi32(a->zero);
    size_t i = 0;
    for (; i + 8 <= a->n; i += 8) {
        const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(x + i));
        const __m256i wide =
            a->is_unsigned ? _mm256_cvtepu8_epi32(bytes) : _mm256_cvtepi8_epi32(bytes);
        _mm256_storeu_ps(y + i,
                         _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(wide, zero)), scale));
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

TAKT_KERNELS(affine_f32, TAKT_KERNEL(affine_f32, "avx2", 10, run, NULL));
