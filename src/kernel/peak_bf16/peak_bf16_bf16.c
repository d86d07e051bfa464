/* peak_bf16_bf16.c - how fast this processor multiplies and adds bf16, by bfmmla. */
#include <arm_neon.h>

#include "kernel/peak/peak.h"

static double run(size_t rounds, const void *operands, double *sum)
{
    const bfloat16_t *x = operands;
    const bfloat16x8_t left = vld1q_bf16(x), right = vld1q_bf16(x + 8);
    double all = 0;
#define X(i)                                                                                       \
    float32x4_t a##i = vdupq_n_f32(0);                                                             \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_24(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i) a##i = vbfmmlaq_f32(a##i, left, right);
        TAKT_PEAK_24(X)
#undef X
    }
#define X(i) all += (double)vaddvq_f32(a##i);
    TAKT_PEAK_24(X)
#undef X
    *sum = all;
    return 24.0 * 32 * (double)rounds;
}

TAKT_KERNELS(peak_bf16, TAKT_KERNEL(peak_bf16, "bf16", 20, run, NULL));
