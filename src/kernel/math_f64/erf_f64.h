/* erf_f64.h - the error function in double, and gelu in both its forms.
 *
 * Below 1, x + x P(x^2). Above, 1 - exp(-x^2) Q(t) with t = (x - 2)/(x + 2), where Q is the scaled
 * complement exp(x^2) erfc(x), smooth in t. From 5.93 on erf rounds to 1.
 */
#ifndef TAKT_KERNEL_MATH_F64_ERF_F64_H
#define TAKT_KERNEL_MATH_F64_ERF_F64_H

#include "kernel/math_f64/exp_f64.h"

static inline vd erf_f64_small(vd a)
{
    static const double c[] = {
        0x1.06eba8214db69p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b2p-4,
        -0x1.b82ce3128498dp-6,  0x1.565bcd0db006ep-8,   -0x1.c02db3d8e5c56p-11,
        0x1.f9a321a03e50bp-14,  -0x1.f4d1df27e6943p-17, 0x1.b9def0b737bb3p-20,
        -0x1.5f1d2ee05207fp-23, 0x1.f7a3bae50fb7p-27,   -0x1.3869ab9b99ef2p-30,
        0x1.0576a9d57b335p-34};
    return vd_fma(a, poly_f64(c, 13, vd_mul(a, a)), a);
}

static inline vd erf_f64_large(vd a)
{
    static const double c[] = {
        0x1.058671b52c776p-2,   -0x1.b57034efd3f56p-2,  0x1.eeea7dc8a7903p-3,
        -0x1.437f0b68cce98p-4,  0x1.e947158ad41fp-9,    0x1.ca95ed8726fe9p-8,
        -0x1.bc258d9aa0cbap-11, -0x1.016b53b7a397fp-10, 0x1.6d34cb2f29d6dp-15,
        0x1.6d8242c212d2ap-13,  0x1.cf771c6c23058p-16,  -0x1.be5f399dd9161p-16,
        -0x1.a814c1a770862p-17};
    a = clamp_f64(a, 1.0, 6.0);
    const vd two = vd_set1(2.0), t = vd_div(vd_sub(a, two), vd_add(a, two));
    return vd_fnma(exp_f64(vd_neg(vd_mul(a, a))), poly_f64(c, 13, t), vd_set1(1.0));
}

static inline vd erf_f64(vd x)
{
    const vd a = vd_abs(x);
    return vd_copysign(vd_select(vd_lt(a, vd_set1(1.0)), erf_f64_small(a), erf_f64_large(a)), x);
}

/* (x / 2) (1 + t), which is -0 from -256 down. */
static inline vd gelu_f64_of(vd x, vd t)
{
    return vd_mul(vd_mul(x, vd_set1(0.5)), vd_add(t, vd_set1(1.0)));
}

static inline vd gelu_f64(vd x)
{
    x = clamp_f64(x, -256.0, (double)INFINITY);
    return gelu_f64_of(x, erf_f64(vd_mul(x, vd_set1(0x1.6a09e667f3bcdp-1)))); /* sqrt(1/2) */
}

static inline vd hard_swish_f64(vd x)
{
    const vd line = vd_min(vd_max(vd_add(x, vd_set1(3.0)), vd_zero()), vd_set1(6.0));
    return vd_mul(x, vd_div(line, vd_set1(6.0)));
}

static inline vd gelu_tanh_f64(vd x)
{
    x = clamp_f64(x, -256.0, (double)INFINITY);
    const vd cube = vd_mul(vd_mul(x, x), x);
    const vd inner = vd_add(x, vd_mul(cube, vd_set1(0.044715)));
    return gelu_f64_of(x, tanh_f64(vd_mul(inner, vd_set1(0x1.9884533d43651p-1)))); /* sqrt(2/pi) */
}

#endif
