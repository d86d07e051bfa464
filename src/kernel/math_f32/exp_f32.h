/* exp_f32.h - exp, sigmoid, tanh and erf of floats on the simd vocabulary.
 *
 * One sequence of operations for every ISA, each operation rounded as written, so the bits agree
 * everywhere. The polynomials are minimax in the relative error of the result (Remez exchange in
 * 50 digits, coefficients then rounded to float). Errors over all inputs, in units of the last
 * place of the exact result, are printed by tests/unit/math_accuracy --all.
 */
#ifndef TAKT_KERNEL_MATH_F32_EXP_F32_H
#define TAKT_KERNEL_MATH_F32_EXP_F32_H

#include "kernel/simd/simd.h"

/* exp(x) for x in [-104, 89]: x = n ln 2 + r with |r| <= ln(2)/2, then 2^n exp(r).
 *
 * Adding 1.5 * 2^23 leaves n in the low bits of the sum, with no conversion that NaN could upset.
 * ln2_hi has 15 bits, so n * ln2_hi and the subtraction are exact and r is rounded once. 2^n is
 * multiplied in two halves: the first product is exact, so a denormal result is rounded once.
 * What 1 + r loses to rounding is known exactly and added to the small terms; `fine` does the same
 * for the rounding of r, for functions that have errors of their own to add (0.75 -> 0.53 ULP). */
static inline vf exp_f32_core(vf x, bool fine)
{
    const vf shifter = vf_set1(0x1.8p23f);
    const vf t = vf_fma(x, vf_set1(0x1.715476p+0f), shifter);
    const vf n = vf_sub(t, shifter);
    const vf ln2_lo = vf_set1(0x1.7f7d1cp-20f), exact = vf_fnma(n, vf_set1(0x1.62e4p-1f), x);
    const vf r = vf_fnma(n, ln2_lo, exact);
    vf p = vf_fma(r, vf_set1(0x1.6a23c0p-10f), vf_set1(0x1.123a6ep-7f));
    p = vf_fma(r, p, vf_set1(0x1.5558f4p-5f));
    p = vf_fma(r, p, vf_set1(0x1.555490p-3f));
    p = vf_fma(r, p, vf_set1(0x1.fffffcp-2f));
    const vf sum = vf_add(vf_set1(1.0f), r), one_less = vf_sub(vf_set1(1.0f), sum);
    vf lost = vf_add(one_less, r);
    if (fine)
        lost = vf_add(lost, vf_fnma(n, ln2_lo, vf_sub(exact, r)));
    p = vf_add(sum, vf_fma(vf_mul(r, r), p, lost));
    const vi k = vi_sub(vf_as_vi(t), vf_as_vi(shifter));
    const vi half = vi_sar(k, 1);
    const vf first = vi_as_vf(vi_shl(vi_add(half, vi_set1(127)), 23));
    const vf second = vi_as_vf(vi_shl(vi_add(vi_sub(k, half), vi_set1(127)), 23));
    return vf_mul(vf_mul(p, first), second);
}

static inline vf exp_f32(vf x)
{
    return exp_f32_core(vf_clamp(x, -104.0f, 89.0f), false);
}

/* 1/(1 + exp(-x)) as e/(1 + e) with e = exp(x) for negative x, so that small results stay exact.
 * One step of Newton's on the quotient takes back the rounding of 1 + e and of the division;
 * 1/(1 + e) is the quotient itself, or one minus it. */
static inline vf sigmoid_f32(vf x)
{
    const vf one = vf_set1(1.0f);
    const vm minus = vf_lt(x, vf_zero());
    const vf a = vf_clamp(vf_neg(vf_abs(x)), -104.0f, 1.0f);
    const vf e = exp_f32_core(a, true), top = vf_select(minus, e, one);
    const vf sum = vf_add(one, e), lost = vf_add(vf_sub(one, sum), e);
    const vf y = vf_div(top, sum);
    const vf rest = vf_fnma(y, lost, vf_fnma(y, sum, top));
    return vf_fma(rest, vf_select(minus, vf_sub(one, y), y), y);
}

/* Below 0.625 an odd polynomial, above it 1 - 2/(exp(2x) + 1); from 9.02 on tanh rounds to 1. */
static inline vf tanh_f32(vf x)
{
    const vf a = vf_abs(x), u = vf_mul(a, a), one = vf_set1(1.0f);
    vf p = vf_fma(u, vf_set1(0x1.18e23ep-9f), vf_set1(-0x1.0bf51ap-7f));
    p = vf_fma(u, p, vf_set1(0x1.638b60p-6f));
    p = vf_fma(u, p, vf_set1(-0x1.b9ee90p-5f));
    p = vf_fma(u, p, vf_set1(0x1.111066p-3f));
    p = vf_fma(u, p, vf_set1(-0x1.555554p-2f));
    const vf small = vf_fma(vf_mul(u, p), a, a);
    const vf b = vf_select(vf_gt(a, vf_set1(10.0f)), vf_set1(10.0f), a);
    const vf e = exp_f32_core(vf_add(b, b), false);
    const vf large = vf_sub(one, vf_div(vf_set1(2.0f), vf_add(e, one)));
    return vf_copysign(vf_select(vf_lt(a, vf_set1(0.625f)), small, large), x);
}

/* Below 0.921875 x + x P(x^2); above it 1 - exp(-(x + x Q(x))), Q from -log(erfc(x)). */
static inline vf erf_f32(vf x)
{
    const vf a = vf_abs(x), u = vf_mul(a, a);
    vf p = vf_fma(u, vf_set1(0x1.5f0166p-14f), vf_set1(-0x1.aae4d8p-11f));
    p = vf_fma(u, p, vf_set1(0x1.54da54p-8f));
    p = vf_fma(u, p, vf_set1(-0x1.b8106ep-6f));
    p = vf_fma(u, p, vf_set1(0x1.ce2e1ep-4f));
    p = vf_fma(u, p, vf_set1(-0x1.812744p-2f));
    p = vf_fma(u, p, vf_set1(0x1.06eba8p-3f));
    const vf small = vf_fma(a, p, a);
    const vf b = vf_select(vf_gt(a, vf_set1(3.93f)), vf_set1(3.93f), a);
    vf q = vf_fma(b, vf_set1(0x1.7b36d0p-17f), vf_set1(-0x1.533862p-12f));
    q = vf_fma(b, q, vf_set1(0x1.ddcc52p-9f));
    q = vf_fma(b, q, vf_set1(-0x1.856a96p-6f));
    q = vf_fma(b, q, vf_set1(0x1.b32cc4p-4f));
    q = vf_fma(b, q, vf_set1(0x1.4532p-1f));
    q = vf_fma(b, q, vf_set1(0x1.077968p-3f));
    const vf large = vf_sub(vf_set1(1.0f), exp_f32_core(vf_neg(vf_fma(b, q, b)), false));
    return vf_copysign(vf_select(vf_lt(a, vf_set1(0.921875f)), small, large), x);
}

#endif
