/* peak_i8_neon.c - how fast this processor multiplies and adds i8 without dot products: widened. */
#include <arm_neon.h>
#include <stdint.h>

#include "kernel/peak/peak.h"

/* Sixteen products in i16, added in pairs to i32, as a kernel without sdot must compute them. */
static inline int32x4_t dot(int32x4_t acc, int8x16_t a, int8x16_t b)
{
    acc = vpadalq_s16(acc, vmull_s8(vget_low_s8(a), vget_low_s8(b)));
    return vpadalq_s16(acc, vmull_high_s8(a, b));
}

static double run(size_t rounds, const void *operands, double *sum)
{
    const int8_t *x = operands;
    double all = 0;
#define X(i)                                                                                       \
    int32x4_t a##i = vdupq_n_s32(0);                                                               \
    TAKT_PEAK_HIDE(a##i);
    TAKT_PEAK_8(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
        int8x16_t left = vld1q_s8(x), right = vld1q_s8(x + 16);
        /* The products must be recomputed each time, as a kernel's are. */
        __asm__ volatile("" : "+w"(left), "+w"(right));
#define X(i)                                                                                       \
    a##i = dot(a##i, left, right);                                                                 \
    __asm__ volatile("" : "+w"(left));
        TAKT_PEAK_8(X)
#undef X
    }
#define X(i) all += (double)vaddlvq_s32(a##i);
    TAKT_PEAK_8(X)
#undef X
    *sum = all;
    return 2.0 * 8 * 16 * (double)rounds;
}

TAKT_KERNELS(peak_i8, TAKT_KERNEL(peak_i8, "neon", 10, run, NULL));
