/* peak_bf16_avx512bf16.c - how fast this processor multiplies and adds bf16, by vdpbf16ps. */
#include <immintrin.h>

#include "kernel/peak/peak.h"

static double run(size_t rounds, const void *operands, double *sum)
{
    const char *x = operands;
    const __m512bh left = (__m512bh)_mm512_loadu_si512(x),
                   right = (__m512bh)_mm512_loadu_si512(x + 64);
    double all = 0;
#define X(i)                                                                                       \
    __m512 a##i = _mm512_setzero_ps();                                                             \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_24(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i) a##i = _mm512_dpbf16_ps(a##i, left, right);
        TAKT_PEAK_24(X)
#undef X
    }
#define X(i) all += (double)_mm512_reduce_add_ps(a##i);
    TAKT_PEAK_24(X)
#undef X
    *sum = all;
    return 2.0 * 24 * 32 * (double)rounds;
}

TAKT_KERNELS(peak_bf16, TAKT_KERNEL(peak_bf16, "avx512bf16", 30, run, NULL));
