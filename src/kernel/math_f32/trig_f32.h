/* trig_f32.h - sin and cos of floats, over the whole range.
 *
 * |x| = q pi/2 + r with |r| <= pi/4. Up to 2^30 the subtraction is done in double, which leaves r
 * good to far more than float needs even near a multiple of pi/2. Beyond, each lane multiplies its
 * 24-bit significand by the 96 bits of 2/pi that matter (Payne and Hanek): plain integers.
 */
#ifndef TAKT_KERNEL_MATH_F32_TRIG_F32_H
#define TAKT_KERNEL_MATH_F32_TRIG_F32_H

#include "kernel/simd/simd.h"

/* r, and q modulo 4 as a float. */
typedef struct trig_f32 {
    vf r, q;
} trig_f32;

/* For 2^30 <= x < inf. x = m 2^e; the fixed-point product holds x * 2/pi modulo 4 with 62
 * fractional bits, since a multiple of 4 quarter turns changes nothing. */
static inline float trig_f32_huge(float x, float *quadrant)
{
    static const uint32_t two_over_pi[] = {0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                           0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u};
    const uint32_t bits = half_bits(x), start = (bits >> 23) - 150u - 2u;
    const uint64_t m = (bits & 0x7fffffu) | 0x800000u;
    uint64_t word[3];
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t at = start / 32u + i;
        const uint64_t two = (uint64_t)two_over_pi[at] << 32 | two_over_pi[at + 1];
        word[i] = (two << start % 32u) >> 32;
    }
    const uint64_t turns = (m * word[0] << 32) + m * word[1] + (m * word[2] >> 32);
    const uint64_t q = (turns + (UINT64_C(1) << 61)) >> 62;
    const uint64_t rest = turns - (q << 62);
    /* Two's complement by hand: the conversion of a large unsigned would be the compiler's choice.
     */
    const double fraction = rest >> 63 ? -(double)(~rest + 1) : (double)rest;
    *quadrant = (float)q;
    return (float)(fraction * 0x1.921fb54442d18p-62);
}

static inline vd trig_f32_part(vd x, vd *q)
{
    const vd shifter = vd_set1(0x1.8p52);
    const vd n = vd_sub(vd_fma(x, vd_set1(0x1.45f306dc9c883p-1), shifter), shifter);
    *q = vd_fnma(vd_set1(4.0), vd_floor(vd_mul(n, vd_set1(0.25))), n);
    const vd r = vd_fnma(n, vd_set1(0x1.921fb54442d18p+0), x);
    return vd_fnma(n, vd_set1(0x1.1a62633145c07p-54), r);
}

static inline trig_f32 trig_f32_reduce(vf a)
{
    vd q_lo, q_hi;
    const vd lo = trig_f32_part(vd_lo(a), &q_lo), hi = trig_f32_part(vd_hi(a), &q_hi);
    trig_f32 t = {vf_from_vd(lo, hi), vf_from_vd(q_lo, q_hi)};
    const vm huge = vm_and(vf_gt(a, vf_set1(0x1p30f)), vf_lt(a, vf_set1(INFINITY)));
    if (vm_any(huge)) {
        float x[VF], r[VF], q[VF];
        vf_store(x, a);
        vf_store(r, t.r);
        vf_store(q, t.q);
        for (int i = 0; i < VF; i++)
            if (x[i] > 0x1p30f && x[i] < INFINITY)
                r[i] = trig_f32_huge(x[i], &q[i]);
        t = (trig_f32){vf_load(r), vf_load(q)};
    }
    return t;
}

static inline vf trig_f32_sin(vf r, vf u)
{
    vf p = vf_fma(u, vf_set1(0x1.6cd83cp-19f), vf_set1(-0x1.a00f9ep-13f));
    p = vf_fma(u, p, vf_set1(0x1.111108p-7f));
    p = vf_fma(u, p, vf_set1(-0x1.555556p-3f));
    return vf_fma(vf_mul(u, p), r, r);
}

static inline vf trig_f32_cos(vf u)
{
    vf p = vf_fma(u, vf_set1(-0x1.241e66p-22f), vf_set1(0x1.a010dep-16f));
    p = vf_fma(u, p, vf_set1(-0x1.6c16b8p-10f));
    p = vf_fma(u, p, vf_set1(0x1.555556p-5f));
    return vf_fma(u, vf_fma(u, p, vf_set1(-0.5f)), vf_set1(1.0f));
}

/* Works on |x| and puts the sign back, which keeps sin(-0) = -0. */
static inline vf sin_f32(vf x)
{
    const trig_f32 t = trig_f32_reduce(vf_abs(x));
    const vf u = vf_mul(t.r, t.r);
    const vm odd = vm_or(vf_eq(t.q, vf_set1(1.0f)), vf_eq(t.q, vf_set1(3.0f)));
    const vf y = vf_select(odd, trig_f32_cos(u), trig_f32_sin(t.r, u));
    const vf signed_y = vf_select(vf_ge(t.q, vf_set1(2.0f)), vf_neg(y), y);
    return vi_as_vf(vi_xor(vf_as_vi(signed_y), vf_sign(x)));
}

static inline vf cos_f32(vf x)
{
    const trig_f32 t = trig_f32_reduce(vf_abs(x));
    const vf u = vf_mul(t.r, t.r);
    const vm odd = vm_or(vf_eq(t.q, vf_set1(1.0f)), vf_eq(t.q, vf_set1(3.0f)));
    const vm minus = vm_or(vf_eq(t.q, vf_set1(1.0f)), vf_eq(t.q, vf_set1(2.0f)));
    const vf y = vf_select(odd, trig_f32_sin(t.r, u), trig_f32_cos(u));
    return vf_select(minus, vf_neg(y), y);
}

#endif
