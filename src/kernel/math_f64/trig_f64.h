/* trig_f64.h - sin, cos and tan in double, over the whole range.
 *
 * |x| = q pi/2 + r + r_lo. Up to 2^20 by three-part Cody-Waite: the first two parts of pi/2 have 33
 * bits, so their products with q are exact. Beyond, reduce_f64.h lane by lane.
 */
#ifndef TAKT_KERNEL_MATH_F64_TRIG_F64_H
#define TAKT_KERNEL_MATH_F64_TRIG_F64_H

#include "kernel/math_f64/exp_f64.h"
#include "kernel/math_f64/reduce_f64.h"

typedef struct trig_f64 {
    vd r, r_lo, q;
} trig_f64;

static inline trig_f64 trig_f64_near(vd a)
{
    const vd shifter = vd_set1(0x1.8p52);
    const vd n = vd_sub(vd_fma(a, vd_set1(0x1.45f306dc9c883p-1), shifter), shifter);
    const vd q = vd_fnma(vd_set1(4.0), vd_floor(vd_mul(n, vd_set1(0.25))), n);
    const vd first = vd_fnma(n, vd_set1(0x1.921fb544p+0), a);
    /* first - w, and exactly what the difference loses (Knuth): w may be the larger of the two */
    const vd w = vd_mul(n, vd_set1(0x1.0b4611a6p-34)), second = vd_sub(first, w);
    const vd back = vd_sub(second, first);
    const vd lost = vd_sub(vd_sub(first, vd_sub(second, back)), vd_add(w, back));
    const vd third = vd_set1(0x1.3198a2e037073p-69), r = vd_fnma(n, third, second);
    return (trig_f64){r, vd_add(vd_fnma(n, third, vd_sub(second, r)), lost), q};
}

static inline trig_f64 trig_f64_reduce(vd a)
{
    const vd limit = vd_set1(0x1p20), inf = vd_set1((double)INFINITY);
    trig_f64 t = trig_f64_near(a);
    if (vmd_any(vmd_and(vd_gt(a, limit), vd_lt(a, inf)))) {
        double x[VD], r[VD], r_lo[VD], q[VD];
        vd_store(x, a);
        vd_store(r, t.r);
        vd_store(r_lo, t.r_lo);
        vd_store(q, t.q);
        for (int i = 0; i < VD; i++)
            if (x[i] > 0x1p20 && x[i] < (double)INFINITY)
                r[i] = reduce_f64(x[i], &r_lo[i], &q[i]);
        t = (trig_f64){vd_load(r), vd_load(r_lo), vd_load(q)};
    }
    return t;
}

static inline vd trig_f64_sin(trig_f64 t, vd u)
{
    static const double c[] = {-0x1.5555555555555p-3,  0x1.111111111110bp-7,
                               -0x1.a01a01a018ae9p-13, 0x1.71de3a5339ddcp-19,
                               -0x1.ae645298d42e3p-26, 0x1.6120931057351p-33,
                               -0x1.aaa573fe99824p-41};
    const vd tilt = vd_mul(t.r_lo, vd_fnma(vd_set1(0.5), u, vd_set1(1.0)));
    return vd_add(t.r, vd_fma(vd_mul(t.r, u), poly_f64(c, 7, u), tilt));
}

static inline vd trig_f64_cos(trig_f64 t, vd u)
{
    static const double c[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16c0fp-10,
                               0x1.a01a01a018ccap-16, -0x1.27e4fb75eb889p-22,
                               0x1.1eed8c90c5f02p-29, -0x1.93932417f67ap-37,
                               0x1.aabd1525fd6f9p-45};
    const vd one = vd_set1(1.0), half = vd_mul(u, vd_set1(0.5)), w = vd_sub(one, half);
    const vd lost = vd_sub(vd_sub(one, w), half);
    const vd tail = vd_fnma(t.r, t.r_lo, vd_mul(vd_mul(u, u), poly_f64(c, 7, u)));
    return vd_add(w, vd_add(lost, tail));
}

static inline vd sin_f64(vd x)
{
    const trig_f64 t = trig_f64_reduce(vd_abs(x));
    const vd u = vd_mul(t.r, t.r);
    const vmd odd = vmd_or(vd_eq(t.q, vd_set1(1.0)), vd_eq(t.q, vd_set1(3.0)));
    const vd y = vd_select(odd, trig_f64_cos(t, u), trig_f64_sin(t, u));
    const vd signed_y = vd_select(vd_ge(t.q, vd_set1(2.0)), vd_neg(y), y);
    return vl_as_vd(vl_xor(vd_as_vl(signed_y), vd_sign(x)));
}

static inline vd cos_f64(vd x)
{
    const trig_f64 t = trig_f64_reduce(vd_abs(x));
    const vd u = vd_mul(t.r, t.r);
    const vmd odd = vmd_or(vd_eq(t.q, vd_set1(1.0)), vd_eq(t.q, vd_set1(3.0)));
    const vmd minus = vmd_or(vd_eq(t.q, vd_set1(1.0)), vd_eq(t.q, vd_set1(2.0)));
    const vd y = vd_select(odd, trig_f64_sin(t, u), trig_f64_cos(t, u));
    return vd_select(minus, vd_neg(y), y);
}

/* sin/cos of r, or -cos/sin where q is odd. */
static inline vd tan_f64(vd x)
{
    const trig_f64 t = trig_f64_reduce(vd_abs(x));
    const vd u = vd_mul(t.r, t.r), s = trig_f64_sin(t, u), c = trig_f64_cos(t, u);
    const vmd odd = vmd_or(vd_eq(t.q, vd_set1(1.0)), vd_eq(t.q, vd_set1(3.0)));
    const vd y = vd_div(vd_select(odd, vd_neg(c), s), vd_select(odd, s, c));
    return vl_as_vd(vl_xor(vd_as_vl(y), vd_sign(x)));
}

#endif
