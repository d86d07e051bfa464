/* sum_i8.h - contract of adding bytes on two grids to bytes on a third, in fixed point.
 *
 *     raised(v, o) = takt_fixed_scale((v - o.zero) * 2^bits, o.multiplier, o.shift)    (fixed.h)
 *     r = takt_fixed_scale(raised(a, of[0]) + raised(b, of[1]), multiplier, shift)
 *     y = r + zero, saturated to [lo, hi]
 *
 * With is_less, raised(b) is taken away. Sums wrap.
 *
 *   bits        every variant equals scalar
 *   alignment   none
 *   reads       exactly a[n] and b[n]
 *   aliasing    y may be a or b
 */
#ifndef TAKT_KERNEL_SUM_I8_H
#define TAKT_KERNEL_SUM_I8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/kernel.h"

typedef struct takt_sum_grid {
    int32_t zero, multiplier, shift;
} takt_sum_grid;

typedef struct takt_sum_i8 {
    size_t n;
    const uint8_t *a, *b;
    uint8_t *y;
    bool is_unsigned; /* all three */
    bool is_less;
    takt_sum_grid of[2];
    int32_t bits; /* from 0 to 31 */
    int32_t multiplier, shift, zero;
    int32_t lo, hi; /* values of the bytes' type, as are the zeros */
} takt_sum_i8;

typedef void takt_sum_i8_fn(const takt_sum_i8 *s);

TAKT_KERNEL_FAMILY(sum_i8, takt_sum_i8_fn)

#endif
