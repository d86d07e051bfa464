/* end.h - what follows the sums of conv_f32, for every variant. */
#ifndef TAKT_KERNEL_CONV_F32_END_H
#define TAKT_KERNEL_CONV_F32_END_H

#include "kernel/conv_f32/conv_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

#define EACH(...)                                                                                  \
    for (size_t r = 0; r < rows; r++) {                                                            \
        vf x = acc[r];                                                                             \
        __VA_ARGS__;                                                                               \
        acc[r] = x;                                                                                \
    }

INLINE vf with_zero(const takt_conv_f32 *c, vf acc)
{
    return c->adds_zero ? vf_add(acc, vf_zero()) : acc;
}

/* The epilogue of one vector of columns: branches once for all rows, not per row. */
INLINE void finish(const takt_conv_f32 *c, size_t column, size_t n, vf *acc, const size_t rows)
{
    if (c->adds_zero && !c->adds)
        EACH(x = vf_add(x, vf_zero()))
    if (c->bias != NULL) {
        const float *from = c->bias + column;
        const vf bias = n == VF ? vf_load(from) : vf_load_n(from, n);
        EACH(x = vf_add(x, bias))
    }
    if (c->relu)
        EACH(x = vf_relu(x))
    else if (c->clips)
        EACH(x = vf_raise(x, c->lo))
    else
        return;
    if (c->limit == 0)
        EACH(x = vf_limit(x, c->limit))
    else if (c->limit != INFINITY)
        EACH(x = vf_lower(x, c->limit))
}

#endif
