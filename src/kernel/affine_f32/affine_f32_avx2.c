/* affine_f32_avx2.c - eight elements at a time; divisions as in affine_f32_neon.c. */
#include "kernel/affine_f32/affine_f32.h"

#include <immintrin.h>

#include "kernel/affine_f32/plain.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct bounds {
    __m256d inverse;
    __m256 low, high;
    __m256i zero;
} bounds;

/* Saturated, rounded half to even, and with their zero point; NaN is 0. */
INLINE __m256i levels(const float *x, const bounds *b)
{
    const __m256 v = _mm256_loadu_ps(x);
    const __m128 first =
        _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(v)), b->inverse));
    const __m128 second =
        _mm256_cvtpd_ps(_mm256_mul_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)), b->inverse));
    const __m256 q = _mm256_set_m128(second, first);
    const __m256 known = _mm256_and_ps(q, _mm256_cmp_ps(q, q, _CMP_ORD_Q));
    const __m256 kept = _mm256_min_ps(_mm256_max_ps(known, b->low), b->high);
    return _mm256_add_epi32(_mm256_cvtps_epi32(kept), b->zero);
}

static size_t quantise(const takt_affine_f32 *a)
{
    const float *x = a->x;
    uint8_t *y = a->y;
    const int32_t lo = a->is_unsigned ? 0 : -128, hi = a->is_unsigned ? 255 : 127;
    const bounds b = {_mm256_set1_pd(1 / (double)a->scale), _mm256_set1_ps((float)(lo - a->zero)),
                      _mm256_set1_ps((float)(hi - a->zero)), _mm256_set1_epi32(a->zero)};
    size_t i = 0;
    for (; i + 16 <= a->n; i += 16) {
        const __m256i pair = _mm256_packs_epi32(levels(x + i, &b), levels(x + i + 8, &b));
        const __m256i words = _mm256_permute4x64_epi64(pair, 0xd8);
        const __m128i low = _mm256_castsi256_si128(words),
                      high = _mm256_extracti128_si256(words, 1);
        _mm_storeu_si128((__m128i *)(void *)(y + i),
                         a->is_unsigned ? _mm_packus_epi16(low, high) : _mm_packs_epi16(low, high));
    }
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

static void run(const takt_affine_f32 *a)
{
    plain(a, a->kind == TAKT_AFFINE_QUANTISE     ? quantise(a)
             : a->kind == TAKT_AFFINE_DEQUANTISE ? dequantise(a)
                                                 : 0);
}

TAKT_KERNELS(affine_f32, TAKT_KERNEL(affine_f32, "avx2", 10, run, NULL));
