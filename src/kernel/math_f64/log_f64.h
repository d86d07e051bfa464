/* log_f64.h - logarithms, inverse hyperbolic functions and pow in double.
 *
 * x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1 (exact), s = f/(2 + f), and
 * log m = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R), R = s^2 (2/3 + 2/5 s^2 + ...).
 */
#ifndef TAKT_KERNEL_MATH_F64_LOG_F64_H
#define TAKT_KERNEL_MATH_F64_LOG_F64_H

#include "kernel/math_f64/exp_f64.h"

#define LN2_HI_F64 0x1.62e42fefa38p-1 /* 42 bits: exact when multiplied by an exponent */
#define LN2_LO_F64 0x1.ef35793c7673p-45

/* f and the exponent of a positive, finite x; denormals are scaled first. */
static inline vd log_f64_split(vd x, vd *exponent)
{
    const vl root_half = vl_set1(INT64_C(0x3fe6a09e667f3bcd));
    const vmd tiny = vd_lt(x, vd_set1(0x1p-1022));
    const vd scaled = vd_select(tiny, vd_mul(x, vd_set1(0x1p52)), x);
    const vl one_less = vl_sub(vl_set1(INT64_C(0x3ff0000000000000)), root_half);
    const vl shifted = vl_add(vd_as_vl(scaled), one_less);
    const vl biased = vl_or(vl_shr(shifted, 52), vd_as_vl(vd_set1(0x1p52)));
    const vd bias = vd_select(tiny, vd_set1(0x1p52 + 1075.0), vd_set1(0x1p52 + 1023.0));
    *exponent = vd_sub(vl_as_vd(biased), bias);
    const vl mantissa = vl_and(shifted, vl_set1(INT64_C(0xfffffffffffff)));
    return vd_sub(vl_as_vd(vl_add(mantissa, root_half)), vd_set1(1.0));
}

/* Special cases of a logarithm: 0, inf, negative numbers and NaN; `y` elsewhere. */
static inline vd log_f64_edges(vd x, vd y)
{
    y = vd_select(vd_eq(x, vd_zero()), vd_set1(-(double)INFINITY), y);
    y = vd_select(vd_eq(x, vd_set1((double)INFINITY)), x, y);
    return vd_select(vd_ge(x, vd_zero()), y, vd_set1((double)NAN));
}

/* s (f^2/2 + R): log(1 + f) = f - (f^2/2 - this). */
static inline vd log_f64_tail(vd f, vd half_square)
{
    static const double c[] = {0x1.5555555555555p-1, 0x1.9999999999e06p-2, 0x1.249249242aba3p-2,
                               0x1.c71c72599fb8bp-3, 0x1.745cde0232441p-3, 0x1.3b20b47450da3p-3,
                               0x1.0f5bfe52ff015p-3, 0x1.0f6a5693cedeep-3};
    const vd s = vd_div(f, vd_add(vd_set1(2.0), f)), z = vd_mul(s, s);
    return vd_mul(s, vd_fma(z, poly_f64(c, 8, z), half_square));
}

static inline vd log_f64(vd x)
{
    vd e;
    const vd f = log_f64_split(x, &e), half_square = vd_mul(vd_mul(f, f), vd_set1(0.5));
    const vd tail = vd_fma(e, vd_set1(LN2_LO_F64), log_f64_tail(f, half_square));
    const vd y = vd_sub(f, vd_sub(half_square, tail));
    return log_f64_edges(x, vd_fma(e, vd_set1(LN2_HI_F64), y));
}

static inline vd log2_f64(vd x)
{
    vd e;
    const vd f = log_f64_split(x, &e), half_square = vd_mul(vd_mul(f, f), vd_set1(0.5));
    const vd y = vd_sub(f, vd_sub(half_square, log_f64_tail(f, half_square)));
    const vd low = vd_mul(y, vd_set1(0x1.777d0ffda0d24p-56));
    const vd log2e = vd_set1(0x1.71547652b82fep+0);
    return log_f64_edges(x, vd_add(e, vd_fma(y, log2e, low)));
}

/* log(u) + (what u = 1 + x lost)/u. */
static inline vd log1p_f64(vd x)
{
    const vd one = vd_set1(1.0), u = vd_add(one, x);
    const vd below = vd_sub(x, vd_sub(u, one)), above = vd_sub(one, vd_sub(u, x));
    const vd lost = vd_select(vd_ge(x, one), above, below);
    const vmd finite = vmd_and(vd_gt(u, vd_zero()), vd_lt(u, vd_set1((double)INFINITY)));
    const vd y = log_f64(u), fixed = vd_add(y, vd_div(lost, u));
    return vd_copysign(vd_select(finite, fixed, y), x);
}

/* log1p(a + a^2/(1 + sqrt(a^2 + 1))); beyond 2^28 log(a) + ln 2, before a^2 overflows. */
static inline vd asinh_f64(vd x)
{
    const vd a = vd_abs(x), u = vd_mul(a, a), one = vd_set1(1.0);
    const vd root = vd_add(one, vd_sqrt(vd_add(u, one)));
    const vd small = log1p_f64(vd_add(a, vd_div(u, root)));
    const vd large = vd_add(log_f64(a), vd_set1(0x1.62e42fefa39efp-1));
    return vd_copysign(vd_select(vd_gt(a, vd_set1(0x1p28)), large, small), x);
}

static inline vd acosh_f64(vd x)
{
    const vd t = vd_sub(x, vd_set1(1.0));
    const vd small = log1p_f64(vd_add(t, vd_sqrt(vd_mul(t, vd_add(t, vd_set1(2.0))))));
    const vd large = vd_add(log_f64(x), vd_set1(0x1.62e42fefa39efp-1));
    const vd y = vd_select(vd_gt(x, vd_set1(0x1p28)), large, small);
    return vd_select(vd_ge(x, vd_set1(1.0)), y, vd_set1((double)NAN));
}

static inline vd atanh_f64(vd x)
{
    const vd a = vd_abs(x), one = vd_set1(1.0);
    const vd y = vd_mul(vd_set1(0.5), log1p_f64(vd_div(vd_add(a, a), vd_sub(one, a))));
    const vd inside = vd_select(vd_le(a, one), y, vd_set1((double)NAN));
    return vd_copysign(vd_select(vd_eq(a, one), vd_set1((double)INFINITY), inside), x);
}

#endif
