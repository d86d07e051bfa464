/* log_f32.h - the natural logarithm of floats.
 *
 * x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1 (exact), and
 * log x = e ln2 + f - f^2/2 + f^3 P(f). e = 0 near x = 1, so the result keeps its relative error.
 */
#ifndef TAKT_KERNEL_MATH_F32_LOG_F32_H
#define TAKT_KERNEL_MATH_F32_LOG_F32_H

#include "kernel/simd/simd.h"

static inline vf log_f32(vf x)
{
    const vm tiny = vf_lt(x, vf_set1(0x1p-126f));
    const vf scaled = vf_select(tiny, vf_mul(x, vf_set1(0x1p23f)), x);
    /* Subtracting the bits of sqrt(1/2) puts the cut between exponents where we want it. */
    const vi shifted = vi_sub(vf_as_vi(scaled), vi_set1(0x3f3504f3));
    const vf bias = vf_select(tiny, vf_set1(-23.0f), vf_zero());
    const vf e = vf_add(vf_from_vi(vi_sar(shifted, 23)), bias);
    const vi mantissa = vi_and(shifted, vi_set1(0x7fffff));
    const vf f = vf_sub(vi_as_vf(vi_add(mantissa, vi_set1(0x3f3504f3))), vf_set1(1.0f));
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
    p = vf_fma(e, vf_set1(0x1.62e4p-1f), p);
    p = vf_select(vf_eq(x, vf_zero()), vf_set1(-INFINITY), p);
    p = vf_select(vf_eq(x, vf_set1(INFINITY)), x, p);
    return vf_select(vf_ge(x, vf_zero()), p, vf_set1(NAN)); /* negative or NaN */
}

#endif
