/* floats.h - weights of a panel as vectors of floats: lane = column. */
#ifndef TAKT_KERNEL_GGML_PANELS_FLOATS_H
#define TAKT_KERNEL_GGML_PANELS_FLOATS_H

#include "kernel/ggml_panels/level.h"

/* Scale and minimum of a part; the minimum is added in blocks of 32, and subtracted in others. */
typedef struct ggml_factors {
    vf scale, minimum;
} ggml_factors;

FIXED ggml_factors ggml_factors_of(const takt_ggml_format format, const uint8_t *p, const int part,
                                   const size_t u)
{
    const ggml_shape z = ggml_shape_of(format);
    const vf d = ggml_half(format, p, 0, u), least = z.has_min ? ggml_half(format, p, 1, u) : d;
    if (!ggml_is_super(format))
        return (ggml_factors){d, least};
    const vf scale = vf_mul(d, vf_from_vi(ggml_scale(format, p, part, u)));
    if (!z.has_min)
        return (ggml_factors){scale, scale};
    return (ggml_factors){scale, vf_mul(least, vf_from_vi(ggml_minimum(format, p, part, u)))};
}

/* Byte i of each lane, less the zero point, as a float. */
FIXED vf ggml_number(const takt_ggml_format format, vi level, const int i)
{
    if (ggml_is_signed(format))
        return vf_from_vi(vi_sar(i == 3 ? level : vi_shl(level, 24 - 8 * i), 24));
    const vi byte =
        i == 3 ? vi_shr(level, 24) : vi_and(i > 0 ? vi_shr(level, 8 * i) : level, vi_set1(255));
    const int zero = ggml_shape_of(format).zero;
    return vf_from_vi(zero == 0 ? byte : vi_sub(byte, vi_set1(zero)));
}

/* The weight whose level is byte i. */
FIXED vf ggml_weight(const takt_ggml_format format, vi level, const int i, const ggml_factors *o)
{
    const vf x = vf_mul(ggml_number(format, level, i), o->scale);
    if (!ggml_shape_of(format).has_min)
        return x;
    return ggml_is_super(format) ? vf_sub(x, o->minimum) : vf_add(x, o->minimum);
}

/* The table of functions `name` of all formats that have panels. */
#define GGML_FORMATS(X)                                                                            \
    X(Q4_0)                                                                                        \
    X(Q4_1)                                                                                        \
    X(Q5_0) X(Q5_1) X(Q8_0) X(Q2_K) X(Q3_K) X(Q4_K) X(Q5_K) X(Q6_K) X(IQ4_NL) X(IQ4_XS) X(MXFP4)

#endif
