/* peak_i8_scalar.c - how fast this processor multiplies and adds i8, one number at a time. */
#include <stdint.h>

#include "kernel/peak/peak.h"

/* The barrier keeps the compiler from replacing the loop by one multiplication. */
static double run(size_t rounds, const void *operands, double *sum)
{
    const int8_t *x = operands;
    const int32_t left = x[0], right = x[1];
    double all = 0;
#define X(i) int32_t a##i = 0;
    TAKT_PEAK_8(X)
#undef X
    for (size_t r = 0; r < rounds; r++) {
#define X(i)                                                                                       \
    a##i += left * right;                                                                          \
    __asm__ volatile("" : "+r"(a##i));
        TAKT_PEAK_8(X)
#undef X
    }
#define X(i) all += a##i;
    TAKT_PEAK_8(X)
#undef X
    *sum = all;
    return 2.0 * 8 * (double)rounds;
}

TAKT_KERNELS(peak_i8, TAKT_KERNEL(peak_i8, "scalar", 0, run, NULL));
