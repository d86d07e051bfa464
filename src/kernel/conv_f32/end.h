/* end.h - what follows the sums of conv_f32, for every variant. */
#ifndef TAKT_KERNEL_CONV_F32_END_H
#define TAKT_KERNEL_CONV_F32_END_H

#include "kernel/conv_f32/conv_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

/* What is added to a sum before y is: -0 leaves it as it is. */
INLINE vf zero_of(const takt_conv_f32 *c)
{
    return vf_set1(c->adds_zero ? 0.0f : -0.0f);
}

/* What is added to a sum at its end. Zero and a bias are one number: acc + 0 + bias has the bits of
 * acc + (bias + 0), also where both are zeros. */
INLINE vf bias_of(const takt_conv_f32 *c, vf bias)
{
    const vf last = c->bias != NULL ? bias : vf_set1(-0.0f);
    return c->adds_zero && !c->adds ? vf_add(last, vf_zero()) : last;
}

/* Bounds that `relu` alone does not have. */
INLINE bool is_bounded(const takt_conv_f32 *c)
{
    return c->clips || (c->relu && c->limit != INFINITY);
}

INLINE vf bounded(const takt_conv_f32 *c, vf x)
{
    const vf from = c->relu ? vf_relu(x) : vf_raise(x, c->lo);
    return c->limit == 0 ? vf_limit(from, c->limit) : vf_lower(from, c->limit);
}

/* What follows sums, whatever it is. Branches once for all of them. */
INLINE void finish(const takt_conv_f32 *c, vf bias, vf *acc, const size_t count)
{
    for (size_t i = 0; i < count; i++)
        acc[i] = vf_add(acc[i], bias);
    if (is_bounded(c))
        for (size_t i = 0; i < count; i++)
            acc[i] = bounded(c, acc[i]);
    else if (c->relu)
        for (size_t i = 0; i < count; i++)
            acc[i] = vf_relu(acc[i]);
}

#endif
