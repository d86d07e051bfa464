/* atan_f64.h - inverse trigonometric functions in double.
 *
 * Up to tan(pi/8) atan is an odd polynomial; up to its inverse atan x = pi/4 + atan((x-1)/(x+1));
 * beyond, pi/2 + atan(-1/x). asin and acos follow by the right triangle.
 */
#ifndef TAKT_KERNEL_MATH_F64_ATAN_F64_H
#define TAKT_KERNEL_MATH_F64_ATAN_F64_H

#include "kernel/math_f64/exp_f64.h"

static inline vd atan_f64(vd x)
{
    static const double c[] = {-0x1.5555555555554p-2, 0x1.999999999965ap-3,  -0x1.2492492475d41p-3,
                               0x1.c71c71b778403p-4,  -0x1.745d14bfbf31cp-4, 0x1.3b136eadadf98p-4,
                               -0x1.110c79caa67e3p-4, 0x1.e1728253094c3p-5,  -0x1.ab80a31eb7cbap-5,
                               0x1.70f989ac9b5cp-5,   -0x1.125347df6b8ffp-5, 0x1.f25503be0a131p-7};
    const vd a = vd_abs(x), one = vd_set1(1.0), zero = vd_zero();
    const vmd middle = vd_gt(a, vd_set1(0x1.a827999fcef32p-2));
    const vmd large = vd_gt(a, vd_set1(0x1.3504f333f9de6p+1));
    const vd top = vd_select(large, vd_set1(-1.0), vd_select(middle, vd_sub(a, one), a));
    const vd bottom = vd_select(large, a, vd_select(middle, vd_add(a, one), one));
    const vd quarters = vd_select(large, vd_set1(2.0), vd_select(middle, one, zero));
    const vd t = vd_div(top, bottom), u = vd_mul(t, t);
    const vd low =
        vd_fma(quarters, vd_set1(0x1.1a62633145c07p-55), vd_mul(vd_mul(t, u), poly_f64(c, 12, u)));
    const vd base = vd_mul(quarters, vd_set1(0x1.921fb54442d18p-1));
    return vd_copysign(vd_add(base, vd_add(t, low)), x);
}

static inline vd asin_f64(vd x)
{
    const vd one = vd_set1(1.0);
    return atan_f64(vd_div(x, vd_sqrt(vd_mul(vd_sub(one, x), vd_add(one, x)))));
}

static inline vd acos_f64(vd x)
{
    const vd one = vd_set1(1.0);
    const vd half = atan_f64(vd_sqrt(vd_div(vd_sub(one, x), vd_add(one, x))));
    return vd_add(half, half);
}

#endif
