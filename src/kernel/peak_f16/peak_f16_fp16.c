/* peak_f16_fp16.c - how fast this processor multiplies and adds f16, by fmla of eight. */
#include <arm_neon.h>

#include "kernel/peak/peak.h"

static double total(float16x8_t v)
{
    float16_t lanes[8];
    double sum = 0;
    vst1q_f16(lanes, v);
    for (size_t i = 0; i < 8; i++)
        sum += (double)lanes[i];
    return sum;
}

static double run(size_t rounds, const void *operands, double *sum)
{
    const float16_t *x = operands;
    const float16x8_t left = vld1q_f16(x), right = vld1q_f16(x + 8);
    double all = 0;
#define X(i)                                                                                       \
    float16x8_t a##i = vdupq_n_f16(0);                                                             \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_24(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i) a##i = vfmaq_f16(a##i, left, right);
        TAKT_PEAK_24(X)
#undef X
    }
#define X(i) all += total(a##i);
    TAKT_PEAK_24(X)
#undef X
    *sum = all;
    return 2.0 * 24 * 8 * (double)rounds;
}

TAKT_KERNELS(peak_f16, TAKT_KERNEL(peak_f16, "fp16", 20, run, NULL));
