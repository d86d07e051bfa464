/* depthwise_bf16_avx512bf16.c - depthwise convolution in f32, sixteen channels of bf16 at a time.
 */
#include "kernel/depthwise_bf16/depthwise_bf16.h"

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { VECTOR = 16 };

typedef __m512 factor;
typedef __m512 sums;

#include "kernel/depthwise_bf16/body.inc"

INLINE __mmask16 of(size_t n)
{
    return n == VECTOR ? (__mmask16)0xffff : (__mmask16)((1u << n) - 1);
}

INLINE factor load(const uint16_t *p, size_t n)
{
    const __m256i x = n == VECTOR ? _mm256_loadu_si256((const __m256i *)(const void *)p)
                                  : _mm256_maskz_loadu_epi16(of(n), p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

INLINE sums load_bias(const takt_depthwise_bf16 *d, size_t c, size_t n)
{
    return d->bias != NULL ? _mm512_maskz_loadu_ps(of(n), d->bias + c) : _mm512_setzero_ps();
}

INLINE sums add(sums s, factor x, factor w)
{
    return _mm512_fmadd_ps(x, w, s);
}

/* max and min give their second operand if one is NaN. */
INLINE void store(const takt_depthwise_bf16 *d, uint16_t *p, size_t n, sums s)
{
    s = _mm512_min_ps(_mm512_set1_ps(d->hi), _mm512_max_ps(_mm512_set1_ps(d->lo), s));
    _mm256_mask_storeu_epi16(p, of(n), (__m256i)_mm512_cvtneps_pbh(s));
}

TAKT_KERNELS(depthwise_bf16, TAKT_KERNEL(depthwise_bf16, "avx512bf16", 30, run, NULL));
