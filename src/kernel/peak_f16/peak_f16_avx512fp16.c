/* peak_f16_avx512fp16.c - how fast this processor multiplies and adds f16, by vfmadd of 32. */
#include <immintrin.h>

#include "kernel/peak/peak.h"

static double total(__m512h v)
{
    double sum = 0;
    _Alignas(64) _Float16 lanes[32];
    _mm512_store_ph(lanes, v);
    for (size_t i = 0; i < 32; i++)
        sum += (double)lanes[i];
    return sum;
}

static double run(size_t rounds, const void *operands, double *sum)
{
    const _Float16 *x = operands;
    const __m512h left = _mm512_loadu_ph(x), right = _mm512_loadu_ph(x + 32);
    double all = 0;
#define X(i)                                                                                       \
    __m512h a##i = _mm512_setzero_ph();                                                            \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_24(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i) a##i = _mm512_fmadd_ph(left, right, a##i);
        TAKT_PEAK_24(X)
#undef X
    }
#define X(i) all += total(a##i);
    TAKT_PEAK_24(X)
#undef X
    *sum = all;
    return 2.0 * 24 * 32 * (double)rounds;
}

TAKT_KERNELS(peak_f16, TAKT_KERNEL(peak_f16, "avx512fp16", 30, run, NULL));
