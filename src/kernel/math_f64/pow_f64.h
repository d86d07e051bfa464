/* pow_f64.h - x^y in double: exp(y log x) with log x in two doubles, because y multiplies its
 * error. */
#ifndef TAKT_KERNEL_MATH_F64_POW_F64_H
#define TAKT_KERNEL_MATH_F64_POW_F64_H

#include "kernel/math_f64/log_f64.h"

/* hi + lo, |lo| about 2^-53 |hi|. */
typedef struct pair_f64 {
    vd hi, lo;
} pair_f64;

static inline pair_f64 pair_f64_sum(vd a, vd b) /* |a| >= |b|, or a = 0 */
{
    const vd hi = vd_add(a, b);
    return (pair_f64){hi, vd_add(vd_sub(a, hi), b)};
}

static inline pair_f64 pair_f64_product(pair_f64 a, pair_f64 b)
{
    const vd hi = vd_mul(a.hi, b.hi), lo = vd_fma(a.hi, b.hi, vd_neg(hi));
    return pair_f64_sum(hi, vd_fma(a.hi, b.lo, vd_fma(a.lo, b.hi, lo)));
}

/* log x = e ln2 + 2s + (2/3) s^3 + s^5 R(s^2), for positive finite x. The first three terms need
 * both halves of their pairs; the fourth is below 2^-12 of the result. */
static inline pair_f64 log_f64_pair(vd x)
{
    static const double c[] = {0x1.999999999999ap-2, 0x1.249249249246fp-2, 0x1.c71c71c7227e5p-3,
                               0x1.745d17417a53p-3,  0x1.3b13b31373e02p-3, 0x1.111093ec050acp-3,
                               0x1.e20b9b2955d28p-4, 0x1.aae9fdea9ce2p-4,  0x1.c32a6d67b38c2p-4};
    const pair_f64 two_thirds = {vd_set1(0x1.5555555555555p-1), vd_set1(0x1.5555555555555p-55)};
    vd e;
    const vd f = log_f64_split(x, &e);
    const pair_f64 d = pair_f64_sum(vd_set1(2.0), f);
    const vd quotient = vd_div(f, d.hi);
    const vd rest = vd_fnma(quotient, d.lo, vd_fnma(quotient, d.hi, f));
    const pair_f64 s = pair_f64_sum(quotient, vd_div(rest, d.hi));
    const pair_f64 z = pair_f64_product(s, s), cube = pair_f64_product(z, s);
    const pair_f64 third = pair_f64_product(cube, two_thirds);
    const vd fifth = vd_mul(vd_mul(cube.hi, z.hi), poly_f64(c, 9, z.hi));
    const pair_f64 m = pair_f64_sum(vd_add(s.hi, s.hi), third.hi);
    const vd m_lo = vd_add(vd_add(vd_add(s.lo, s.lo), m.lo), vd_add(third.lo, fifth));
    const pair_f64 sum = pair_f64_sum(vd_mul(e, vd_set1(LN2_HI_F64)), m.hi);
    return pair_f64_sum(sum.hi, vd_add(sum.lo, vd_fma(e, vd_set1(LN2_LO_F64), m_lo)));
}

/* The signs and special values of IEEE 754 pow, given r = |x|^y. */
static inline vd pow_f64_edges(vd x, vd y, vd r)
{
    const vd one = vd_set1(1.0), inf = vd_set1((double)INFINITY), half = vd_mul(y, vd_set1(0.5));
    const vmd whole = vd_eq(vd_trunc(y), y);
    const vmd odd = vmd_and(whole, vd_ne(vd_trunc(half), half));
    r = vd_select(odd, vd_copysign(r, x), r);
    const vmd root = vmd_and(vd_lt(x, vd_zero()), vd_gt(x, vd_neg(inf)));
    r = vd_select(vmd_and(root, vmd_not(whole)), vd_set1((double)NAN), r);
    const vmd unit = vmd_and(vd_eq(x, vd_set1(-1.0)), vd_eq(vd_abs(y), inf));
    const vmd always = vmd_or(vd_eq(x, one), vd_eq(y, vd_zero()));
    return vd_select(vmd_or(unit, always), one, r);
}

static inline vd pow_f64(vd x, vd y)
{
    const vd a = vd_abs(x), inf = vd_set1((double)INFINITY);
    const pair_f64 l = log_f64_pair(a);
    const vmd usual = vmd_and(vd_gt(a, vd_zero()), vd_lt(a, inf));
    const vd log_a = vd_select(usual, l.hi, log_f64_edges(a, l.hi));
    const vd t = vd_mul(log_a, y);
    const vd t_lo = vd_fma(l.lo, y, vd_fma(log_a, y, vd_neg(t)));
    const vmd small = vmd_and(usual, vd_lt(vd_abs(t), vd_set1(746.0)));
    exp_f64_parts e = exp_f64_split(clamp_f64(t, -746.0, 710.0));
    /* exp(r) (1 + t_lo): t_lo reaches 2^-44, so all of exp(r) counts */
    const vd whole = vd_add(vd_set1(1.0), vd_add(e.r, e.tail));
    e.tail = vd_select(small, vd_fma(t_lo, whole, e.tail), e.tail);
    return pow_f64_edges(x, y, exp_f64_join(e));
}

#endif
