/* arm_body.h - the peaks of i8 on aarch64; the including file defines DOT, OPS, NAME and RANK. */
#include <arm_neon.h>
#include <stdint.h>

#include "kernel/peak/peak.h"

static double run(size_t rounds, const void *operands, double *sum)
{
    const int8_t *x = operands;
    const int8x16_t left = vld1q_s8(x), right = vld1q_s8(x + 16);
    double all = 0;
#define X(i)                                                                                       \
    int32x4_t a##i = vdupq_n_s32(0);                                                               \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_24(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i) a##i = DOT(a##i, left, right);
        TAKT_PEAK_24(X)
#undef X
    }
#define X(i) all += (double)vaddlvq_s32(a##i);
    TAKT_PEAK_24(X)
#undef X
    *sum = all;
    return 24.0 * OPS * (double)rounds;
}

TAKT_KERNELS(peak_i8, TAKT_KERNEL(peak_i8, NAME, RANK, run, NULL));
