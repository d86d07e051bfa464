/* mul_i8.h - contract of multiplying bytes on two grids to bytes on a third, in fixed point.
 *
 *     r = takt_fixed_scale((a - a_zero) * (b - b_zero), multiplier, shift)    (fixed.h)
 *     y = r + zero, saturated to [lo, hi]
 *
 *   bits        every variant equals scalar
 *   alignment   none
 *   reads       exactly a[n] and b[n]
 *   aliasing    y may be a or b
 */
#ifndef TAKT_KERNEL_MUL_I8_H
#define TAKT_KERNEL_MUL_I8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/gemm_i8/fixed.h"
#include "kernel/kernel.h"

typedef struct takt_mul_i8 {
    size_t n;
    const uint8_t *a, *b;
    uint8_t *y;
    bool is_unsigned; /* all three */
    int32_t a_zero, b_zero;
    int32_t multiplier, shift, zero;
    int32_t lo, hi; /* values of the bytes' type, as are the zeros */
} takt_mul_i8;

typedef void takt_mul_i8_fn(const takt_mul_i8 *s);

TAKT_KERNEL_FAMILY(mul_i8, takt_mul_i8_fn)

#endif
