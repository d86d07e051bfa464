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

#include "kernel/gemm_i8/fixed.h"
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
    bool has_ties; /* as takt_sum_i8_ties says of one of `of`; true is always right */
    takt_sum_grid of[2];
    int32_t bits; /* from 0 to 31 */
    int32_t multiplier, shift, zero;
    int32_t lo, hi; /* values of the bytes' type, as are the zeros */
} takt_sum_i8;

/* Whether a negative scaled value of an operand is exactly halfway before its shift: only then does
 * the rounding of halves matter. */
static inline bool takt_sum_i8_ties(const takt_sum_i8 *s, const takt_sum_grid *o)
{
    const uint32_t right = (0u - (uint32_t)o->shift) & 31;
    for (int32_t v = 0; right > 0 && v < 256; v++) {
        const int32_t value = s->is_unsigned ? v : v - 128;
        const uint32_t up = (uint32_t)(value - o->zero) << s->bits;
        const int32_t high = takt_fixed_scale(up, o->multiplier, 0);
        const uint32_t half = UINT32_C(1) << (right - 1);
        if (high < 0 && ((uint32_t)high & (2 * half - 1)) == half)
            return true;
    }
    return false;
}

typedef void takt_sum_i8_fn(const takt_sum_i8 *s);

TAKT_KERNEL_FAMILY(sum_i8, takt_sum_i8_fn)

#endif
