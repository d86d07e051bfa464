/* wide_f32.h - f32 functions that are evaluated in double and rounded once: within 0.51 ULP. */
#ifndef TAKT_KERNEL_MATH_F32_WIDE_F32_H
#define TAKT_KERNEL_MATH_F32_WIDE_F32_H

#include "kernel/math_f64/atan_f64.h"
#include "kernel/math_f64/log_f64.h"
#include "kernel/math_f64/pow_f64.h"
#include "kernel/math_f64/trig_f64.h"

#define WIDE_F32(name)                                                                             \
    static inline vf name##_f32(vf x)                                                              \
    {                                                                                              \
        return vf_from_vd(name##_f64(vd_lo(x)), name##_f64(vd_hi(x)));                             \
    }

WIDE_F32(exp2)
WIDE_F32(sinh)
WIDE_F32(cosh)
WIDE_F32(log2)
WIDE_F32(asinh)
WIDE_F32(acosh)
WIDE_F32(atanh)
WIDE_F32(tan)
WIDE_F32(atan)
WIDE_F32(asin)
WIDE_F32(acos)

/* |y log x| <= 104 where the result is neither 0 nor infinite, so one double holds it well. */
static inline vd pow_f32_part(vd x, vd y)
{
    return pow_f64_edges(x, y, exp_f64(vd_mul(y, log_f64(vd_abs(x)))));
}

static inline vf pow_f32(vf x, vf y)
{
    return vf_from_vd(pow_f32_part(vd_lo(x), vd_lo(y)), pow_f32_part(vd_hi(x), vd_hi(y)));
}

#endif
