/* quotient.h - x / c for many x and one c, without a division, where that has the same bits.
 *
 * With 1/c = high + low, high rounded down, x / c is x * high + x * low, in which only x * low and
 * low itself are rounded: for a quotient between 1/2 and 2 the sum before its last rounding is off
 * by less than 2^-46. It gives another float than the division only if the quotient is that close
 * to the middle of two floats. With a and b the 24 bits of x and c, middles are odd M of 25 bits,
 * over 2^s, and
 *
 *     a * 2^s = b * M + d,   s = 24 (a >= b) or 25,   |d| <= 2^(s - 46) * b < 8
 *
 * (d = 0 has no solution). For each d there are a few M, so a few x are tried, and if these have
 * the same bits then all have. Of the corrections of Adam's first 20,000 steps 9 in 10 pass, and
 * most others with a neighbour of low. high and low are above 0, so that zero and infinity pass
 * unchanged. c is at most 2^16: x * low would be subnormal for the least roots from about 2^27 on.
 */
#ifndef TAKT_KERNEL_ADAM_F32_QUOTIENT_H
#define TAKT_KERNEL_ADAM_F32_QUOTIENT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct quotient {
    float high, low;
} quotient;

enum { QUOTIENT_NEAR = 7 }; /* the largest |d| */

static inline float quotient_of(float x, const quotient *q)
{
    return fmaf(x, q->high, x * q->low);
}

/* 1/b for odd b, modulo 2^32: each round doubles the bits that are right, three at first. */
static inline uint32_t quotient_inverse(uint32_t b)
{
    uint32_t x = b;
    for (int i = 0; i < 4; i++)
        x *= 2 - b * x;
    return x;
}

/* A divisor: its 24 bits are `odd`, whose inverse is known, times 2^zeros. */
typedef struct quotient_divisor {
    float c;
    unsigned zeros;
    uint32_t bits, inverse;
} quotient_divisor;

static inline quotient_divisor quotient_divisor_of(float c)
{
    int exponent;
    quotient_divisor by = {.c = c, .bits = (uint32_t)(frexpf(c, &exponent) * 0x1p24f)};
    by.zeros = (unsigned)__builtin_ctz(by.bits);
    by.inverse = quotient_inverse(by.bits >> by.zeros);
    return by;
}

/* Whether the x near a middle have the bits of a division, for one odd d / 2^zeros and one s. */
static inline bool quotient_passes(const quotient_divisor *by, const quotient *q, int d, unsigned s)
{
    const uint64_t every = (uint64_t)1 << (s - by->zeros), end = (uint64_t)1 << 25;
    const uint64_t first = (0 - (uint32_t)d) * by->inverse & (every - 1);
    const uint64_t off = (uint64_t)d << by->zeros;
    bool good = true;
    for (uint64_t middle = first; middle < end; middle += every) {
        const uint64_t a = (by->bits * middle + off) >> s;
        if (middle > end / 2 && a >= 1 << 23 && a < 1 << 24)
            good &= quotient_of((float)a, q) == (float)a / by->c;
    }
    return good;
}

static inline bool quotient_is_exact(const quotient_divisor *by, const quotient *q)
{
    bool good = true;
    for (int d = 1; d << by->zeros <= QUOTIENT_NEAR; d += 2)
        for (unsigned s = 24; s <= 25; s++)
            good = good && quotient_passes(by, q, d, s) && quotient_passes(by, q, -d, s);
    return good;
}

/* False: divide. Of x only zero, infinity, NaN and numbers from 2^-80 to 2^80 are promised, as
 * roots of floats are. */
static inline bool quotient_find(float c, quotient *q)
{
    int exponent;
    if (!(c >= 0x1p-32f && c <= 0x1p16f))
        return false;
    if (frexpf(c, &exponent) == 0.5f) {
        q->high = q->low = 0.5f / c;
        return true;
    }
    q->high = (float)(1 / (double)c);
    if ((double)q->high * (double)c > 1)
        q->high = nextafterf(q->high, 0);
    const quotient_divisor by = quotient_divisor_of(c);
    /* The product of two floats is a double, and so is its difference from 1. */
    const float low = (float)((1 - (double)q->high * (double)c) / (double)c);
    const float some[] = {low, nextafterf(low, 1), nextafterf(low, 0)};
    for (int i = 0; i < 3; i++) {
        q->low = some[i];
        if (quotient_is_exact(&by, q))
            return true;
    }
    return false;
}

#endif
