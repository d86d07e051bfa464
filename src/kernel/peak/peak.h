/* peak.h - contract of the kernels that show how fast a processor can multiply and add.
 *
 * acc = acc + x * x, in as many independent accumulators as the registers hold, `rounds` times.
 *
 *   operands   TAKT_PEAK_BYTES at a multiple of 64, every element the same value x
 *   result     the number of operations done, a multiplication and an addition counting as two;
 *              *sum is the total of all accumulators, which is x * x * operations / 2
 *   rounds     i8: rounds * x * x must stay below 2^31 / 64; f16: the sum is right up to 2048
 *              rounds of a power of two
 *
 * At least one factor of every product comes straight from a vector load: some cores (Neoverse V1)
 * multiply at half their rate when both factors were made by vector arithmetic.
 */
#ifndef TAKT_KERNEL_PEAK_H
#define TAKT_KERNEL_PEAK_H

#include <stddef.h>

#include "kernel/kernel.h"

enum { TAKT_PEAK_BYTES = 256 };

typedef double takt_peak_fn(size_t rounds, const void *operands, double *sum);

TAKT_KERNEL_FAMILY(peak_f32, takt_peak_fn)
TAKT_KERNEL_FAMILY(peak_f64, takt_peak_fn)
TAKT_KERNEL_FAMILY(peak_i8, takt_peak_fn)
TAKT_KERNEL_FAMILY(peak_f16, takt_peak_fn)
TAKT_KERNEL_FAMILY(peak_bf16, takt_peak_fn)

/* Applied to 0..7 and 0..23: accumulators are separate variables, since an array would end up in
 * memory. */
#define TAKT_PEAK_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define TAKT_PEAK_24(X)                                                                            \
    TAKT_PEAK_8(X)                                                                                 \
    X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)

/* Hides a value from the compiler, which would otherwise see that all accumulators are equal and
 * keep one of them. */
#if defined __ARM_FEATURE_SVE_BITS && __ARM_FEATURE_SVE_BITS > 0
/* clang 14 has no register constraint for scalable vectors of fixed length. */
#define TAKT_PEAK_HIDE(v) __asm__ volatile("" : "+m"(v))
#elif defined __aarch64__
#define TAKT_PEAK_HIDE(v) __asm__ volatile("" : "+w"(v))
#elif defined __x86_64__
#define TAKT_PEAK_HIDE(v) __asm__ volatile("" : "+v"(v))
#else
#define TAKT_PEAK_HIDE(v) __asm__ volatile("" : "+m"(v))
#endif

#endif
