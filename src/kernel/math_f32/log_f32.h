/* log_f32.h - the natural logarithm of floats, and of one more than them.
 *
 * x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1 (exact), and
 * log x = e ln2 + f - f^2/2 + f^3 P(f). e = 0 near x = 1, so the result keeps its relative error.
 */
#ifndef TAKT_KERNEL_MATH_F32_LOG_F32_H
#define TAKT_KERNEL_MATH_F32_LOG_F32_H

#include "kernel/simd/simd.h"

/* e ln2 + log(1 + f), f in [sqrt(1/2) - 1, sqrt(2) - 1). */
static inline vf log_f32_sum(vf e, vf f)
{
    vf p = vf_fma(f, vf_set1(0x1.145620p-4f), vf_set1(-0x1.de3acap-4f));
    p = vf_fma(f, p, vf_set1(0x1.e6f06cp-4f));
    p = vf_fma(f, p, vf_set1(-0x1.fc2244p-4f));
    p = vf_fma(f, p, vf_set1(0x1.23376cp-3f));
    p = vf_fma(f, p, vf_set1(-0x1.555c4cp-3f));
    p = vf_fma(f, p, vf_set1(0x1.99a4b4p-3f));
    p = vf_fma(f, p, vf_set1(-0x1.000006p-2f));
    p = vf_fma(f, p, vf_set1(0x1.555548p-2f));
    const vf u = vf_mul(f, f);
    p = vf_fma(e, vf_set1(0x1.7f7d1cp-20f), vf_mul(vf_mul(u, f), p));
    p = vf_add(vf_fnma(u, vf_set1(0.5f), p), f);
    return vf_fma(e, vf_set1(0x1.62e4p-1f), p);
}

/* y, the logarithm of x, where x is above zero and finite. */
static inline vf log_f32_edges(vf x, vf y)
{
    y = vf_select(vf_eq(x, vf_zero()), vf_set1(-INFINITY), y);
    y = vf_select(vf_eq(x, vf_set1(INFINITY)), x, y);
    return vf_select(vf_ge(x, vf_zero()), y, vf_set1(NAN)); /* negative or NaN */
}

/* m - 1 from the bits of x minus those of sqrt(1/2), so that m is in [sqrt(1/2), sqrt(2)). */
static inline vf log_f32_rest(vi shifted)
{
    const vi mantissa = vi_and(shifted, vi_set1(0x7fffff));
    return vf_sub(vi_as_vf(vi_add(mantissa, vi_set1(0x3f3504f3))), vf_set1(1.0f));
}

static inline vf log_f32(vf x)
{
    const vm tiny = vf_lt(x, vf_set1(0x1p-126f));
    const vf scaled = vf_select(tiny, vf_mul(x, vf_set1(0x1p23f)), x);
    const vi shifted = vi_sub(vf_as_vi(scaled), vi_set1(0x3f3504f3));
    const vf bias = vf_select(tiny, vf_set1(-23.0f), vf_zero());
    const vf e = vf_add(vf_from_vi(vi_sar(shifted, 23)), bias);
    return log_f32_edges(x, log_f32_sum(e, log_f32_rest(shifted)));
}

/* log(1 + x): the rounding error of 1 + x, times 2^-e, is added to f. So f is x itself where e =
 * 0. */
static inline vf log1p_f32(vf x)
{
    const vf one = vf_set1(1.0f), u = vf_add(one, x);
    const vf below = vf_sub(x, vf_sub(u, one)), above = vf_sub(one, vf_sub(u, x));
    const vf lost = vf_select(vf_ge(x, one), above, below);
    const vi shifted = vi_sub(vf_as_vi(u), vi_set1(0x3f3504f3));
    const vi whole = vi_sar(shifted, 23); /* 2^-e is zero from e = 127 on, where nothing is left */
    const vi scale = vi_max(vi_sub(vi_set1(127), whole), vi_set1(0));
    const vf f = vf_fma(lost, vi_as_vf(vi_shl(scale, 23)), log_f32_rest(shifted));
    return vf_copysign(log_f32_edges(u, log_f32_sum(vf_from_vi(whole), f)), x);
}

#endif
