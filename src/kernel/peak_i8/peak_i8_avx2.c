/* peak_i8_avx2.c - how fast this processor multiplies and adds i8 without VNNI: widened to i16. */
#include <immintrin.h>
#include <stdint.h>

#include "kernel/peak/peak.h"

static double total(__m256i v)
{
    int32_t lanes[8];
    double sum = 0;
    _mm256_storeu_si256((__m256i *)lanes, v);
    for (int i = 0; i < 8; i++)
        sum += lanes[i];
    return sum;
}

static double run(size_t rounds, const void *operands, double *sum)
{
    const int8_t *x = operands;
    __m256i left = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)x));
    const __m256i right = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(x + 16)));
    double all = 0;
#define X(i)                                                                                       \
    __m256i a##i = _mm256_setzero_si256();                                                         \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_8(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i)                                                                                       \
    a##i = _mm256_add_epi32(a##i, _mm256_madd_epi16(left, right));                                 \
    __asm__ volatile("" : "+x"(left));
        TAKT_PEAK_8(X)
#undef X
    }
#define X(i) all += total(a##i);
    TAKT_PEAK_8(X)
#undef X
    *sum = all;
    return 2.0 * 8 * 16 * (double)rounds;
}

TAKT_KERNELS(peak_i8, TAKT_KERNEL(peak_i8, "avx2", 20, run, NULL));
