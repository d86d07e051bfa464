/* reduce_f64.h - large doubles modulo pi/2, in integers (Payne and Hanek).
 *
 * x = m 2^e. A multiple of 4 quarter turns changes nothing, so of 2/pi only the 192 bits from place
 * e - 2 on matter; their product with m, modulo 2^192, holds x * 2/pi modulo 4. No double comes
 * nearer to a multiple of pi/2 than about 2^-61, which leaves 75 good bits.
 */
#ifndef TAKT_KERNEL_MATH_F64_REDUCE_F64_H
#define TAKT_KERNEL_MATH_F64_REDUCE_F64_H

#include <stdint.h>
#include <string.h>

/* hi + lo of the fixed-point number a 2^-62 + b 2^-126, times pi/2. */
static inline double reduce_f64_scale(uint64_t a, uint64_t b, double *lo)
{
    const double top = (double)(a >> 32) * 0x1p-30, middle = (double)(a & 0xffffffffu) * 0x1p-62;
    const double sum = top + middle, rest = ((top - sum) + middle) + (double)b * 0x1p-126;
    const double hi = sum + rest, hi_lo = (sum - hi) + rest;
    const double pio2_hi = 0x1.921fb54442d18p+0, pio2_lo = 0x1.1a62633145c07p-54;
    const double r = hi * pio2_hi;
    const double r_lo =
        __builtin_fma(hi, pio2_lo, __builtin_fma(hi, pio2_hi, -r)) + hi_lo * pio2_hi;
    *lo = r_lo;
    return r;
}

/* For 2^20 < x < inf: r and *lo with x = q pi/2 + r + *lo, *quadrant = q modulo 4. */
static inline double reduce_f64(double x, double *lo, double *quadrant)
{
    static const uint32_t two_over_pi[] = {
        0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu,
        0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
        0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu,
        0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u,
        0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u,
        0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du};
    enum { WORDS = 6 };
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint64_t m = (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
    const int start = (int)(bits >> 52) - 1075 - 2; /* negative below 2^54: zeros precede 2/pi */
    uint32_t product[WORDS] = {0};                  /* most significant first */
    uint64_t carry_low = 0, carry_high = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        const int at = start + 32 * i, word = at >= 0 ? at / 32 : -((31 - at) / 32);
        const uint64_t left = word >= 0 ? two_over_pi[word] : 0;
        const uint64_t right = word >= -1 ? two_over_pi[word + 1] : 0;
        const uint32_t f = (uint32_t)(((left << 32 | right) << (at - 32 * word)) >> 32);
        const uint64_t low = (m & 0xffffffffu) * f + carry_low;
        const uint64_t sum = (low & 0xffffffffu) + carry_high;
        product[i] = (uint32_t)sum;
        carry_high = (m >> 32) * f + (sum >> 32);
        carry_low = low >> 32;
    }
    uint64_t a = (uint64_t)product[0] << 32 | product[1];
    uint64_t b = (uint64_t)product[2] << 32 | product[3];
    const uint64_t q = (a + (UINT64_C(1) << 61)) >> 62;
    a -= q << 62;
    const int negative = (int)(a >> 63);
    if (negative) {
        b = ~b + 1;
        a = ~a + (b == 0);
    }
    const double r = reduce_f64_scale(a, b, lo);
    *lo = negative ? -*lo : *lo;
    *quadrant = (double)q;
    return negative ? -r : r;
}

#endif
