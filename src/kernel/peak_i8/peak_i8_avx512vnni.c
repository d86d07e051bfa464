/* peak_i8_avx512vnni.c - how fast this processor multiplies and adds i8, by vpdpbusd. */
#include <immintrin.h>
#include <stdint.h>

#include "kernel/peak/peak.h"

static double run(size_t rounds, const void *operands, double *sum)
{
    const int8_t *x = operands;
    const __m512i left = _mm512_loadu_si512(x), right = _mm512_loadu_si512(x + 64);
    double all = 0;
#define X(i)                                                                                       \
    __m512i a##i = _mm512_setzero_si512();                                                         \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_24(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i) a##i = _mm512_dpbusd_epi32(a##i, left, right);
        TAKT_PEAK_24(X)
#undef X
    }
#define X(i) all += (double)_mm512_reduce_add_epi32(a##i);
    TAKT_PEAK_24(X)
#undef X
    *sum = all;
    return 2.0 * 24 * 64 * (double)rounds;
}

TAKT_KERNELS(peak_i8, TAKT_KERNEL(peak_i8, "avx512vnni", 30, run, NULL));
