/* exp_f64.h - exp and its relatives in double on the simd vocabulary.
 *
 * One sequence of operations for every ISA, as in math_f32. These serve the element-wise kernels of
 * f64, and the less frequent f32 functions, which are evaluated here and rounded once.
 */
#ifndef TAKT_KERNEL_MATH_F64_EXP_F64_H
#define TAKT_KERNEL_MATH_F64_EXP_F64_H

#include "kernel/simd/simd.h"

/* c[0] + c[1] x + ... + c[count-1] x^(count-1) by Horner's rule, fused. */
static inline vd poly_f64(const double *c, int count, vd x)
{
    vd p = vd_set1(c[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        p = vd_fma(x, p, vd_set1(c[i]));
    return p;
}

/* x = n ln 2 + r + r_lo with |r| <= ln(2)/2; exp(r) = 1 + r + tail. */
typedef struct exp_f64_parts {
    vd n, r, tail;
} exp_f64_parts;

static inline vd exp_f64_tail(vd r, vd r_lo)
{
    static const double q[] = {0x1.555555555555ap-3,  0x1.555555555553p-5,   0x1.111111110efbcp-7,
                               0x1.6c16c16c2702cp-10, 0x1.a01a01b26bceep-13, 0x1.a01a01526c505p-16,
                               0x1.71ddf26912b2cp-19, 0x1.27e58d070449bp-22, 0x1.af686db70da8fp-26,
                               0x1.1e67046d18fafp-29};
    const vd p = vd_fma(r, poly_f64(q, 10, r), vd_set1(0.5));
    return vd_fma(vd_mul(r, r), p, r_lo);
}

/* |x| < 2^20. ln2_hi has 42 bits, so its product with n is exact. */
static inline exp_f64_parts exp_f64_split(vd x)
{
    const vd shifter = vd_set1(0x1.8p52), ln2_lo = vd_set1(0x1.ef35793c7673p-45);
    const vd n = vd_sub(vd_fma(x, vd_set1(0x1.71547652b82fep+0), shifter), shifter);
    const vd exact = vd_fnma(n, vd_set1(0x1.62e42fefa38p-1), x);
    const vd r = vd_fnma(n, ln2_lo, exact);
    return (exp_f64_parts){n, r, exp_f64_tail(r, vd_fnma(n, ln2_lo, vd_sub(exact, r)))};
}

/* 2^n for -1022 <= n <= 1023: the sum holds n + 1023 in its low bits. */
static inline vd pow2_f64(vd n)
{
    return vl_as_vd(vl_shl(vd_as_vl(vd_add(n, vd_set1(0x1.8p52 + 1023.0))), 52));
}

/* (1 + r + tail) 2^n, in two steps so that a denormal result is rounded once. */
static inline vd exp_f64_join(exp_f64_parts e)
{
    const vd one = vd_set1(1.0), sum = vd_add(one, e.r);
    const vd lost = vd_add(vd_sub(one, sum), e.r);
    const vd p = vd_add(sum, vd_add(e.tail, lost));
    const vd half = vd_floor(vd_mul(e.n, vd_set1(0.5)));
    return vd_mul(vd_mul(p, pow2_f64(half)), pow2_f64(vd_sub(e.n, half)));
}

/* NaN passes: comparisons with it are false. */
static inline vd clamp_f64(vd x, double low, double high)
{
    x = vd_select(vd_gt(x, vd_set1(high)), vd_set1(high), x);
    return vd_select(vd_lt(x, vd_set1(low)), vd_set1(low), x);
}

static inline vd exp_f64(vd x)
{
    return exp_f64_join(exp_f64_split(clamp_f64(x, -746.0, 710.0)));
}

static inline vd exp2_f64(vd x)
{
    x = clamp_f64(x, -1076.0, 1024.0);
    const vd n = vd_round(x), f = vd_sub(x, n), ln2 = vd_set1(0x1.62e42fefa39efp-1);
    const vd r = vd_mul(f, ln2);
    const vd lo = vd_fma(f, vd_set1(0x1.abc9e3b39803fp-56), vd_fma(f, ln2, vd_neg(r)));
    return exp_f64_join((exp_f64_parts){n, r, exp_f64_tail(r, lo)});
}

/* 2^n (exp(r) - 1) + (2^n - 1), everything halved until the end so that 2^1024 is not needed. */
static inline vd expm1_f64(vd x)
{
    const exp_f64_parts e = exp_f64_split(clamp_f64(x, -50.0, 710.0));
    const vd scale = pow2_f64(vd_sub(e.n, vd_set1(1.0)));
    const vd p = vd_fma(scale, vd_add(e.r, e.tail), vd_sub(scale, vd_set1(0.5)));
    return vd_copysign(vd_add(p, p), x);
}

/* See sigmoid_f32. */
static inline vd sigmoid_f64(vd x)
{
    const vd one = vd_set1(1.0);
    const vmd minus = vd_lt(x, vd_zero());
    const vd e = exp_f64(vd_neg(vd_abs(x))), top = vd_select(minus, e, one);
    const vd sum = vd_add(one, e), lost = vd_add(vd_sub(one, sum), e);
    const vd y = vd_div(top, sum);
    const vd rest = vd_fnma(y, lost, vd_fnma(y, sum, top));
    return vd_fma(rest, vd_select(minus, vd_sub(one, y), y), y);
}

static inline vd silu_f64(vd x)
{
    return vd_mul(x, sigmoid_f64(x));
}

/* E/(E + 2) with E = exp(2|x|) - 1; beyond 20 tanh rounds to 1. */
static inline vd tanh_f64(vd x)
{
    const vd a = clamp_f64(vd_abs(x), 0.0, 20.0), e = expm1_f64(vd_add(a, a));
    return vd_copysign(vd_div(e, vd_add(e, vd_set1(2.0))), x);
}

/* exp(a)/2 without overflow before the result does: (exp(a/2)/2) exp(a/2). */
static inline vd half_exp_f64(vd a)
{
    const vd e = exp_f64(vd_mul(a, vd_set1(0.5)));
    return vd_mul(vd_mul(e, vd_set1(0.5)), e);
}

static inline vd sinh_f64(vd x)
{
    const vd a = vd_abs(x), e = expm1_f64(a);
    const vd small = vd_mul(vd_set1(0.5), vd_add(e, vd_div(e, vd_add(e, vd_set1(1.0)))));
    return vd_copysign(vd_select(vd_gt(a, vd_set1(22.0)), half_exp_f64(a), small), x);
}

static inline vd cosh_f64(vd x)
{
    const vd a = vd_abs(x), e = exp_f64(a), half = vd_set1(0.5);
    const vd small = vd_fma(half, e, vd_div(half, e));
    return vd_select(vd_gt(a, vd_set1(22.0)), half_exp_f64(a), small);
}

#endif
