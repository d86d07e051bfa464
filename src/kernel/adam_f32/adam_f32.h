/* adam_f32.h - contract of one step of Adam or AdamW for a run of parameters.
 *
 *     d  = g[i], + more[i] and then / *divisor where present
 *     m' = m[i] * beta1 + d * rest1
 *     v' = v[i] * beta2 + d * rest2 * d
 *     w' = (keep != NULL ? w[i] * *keep : w[i]) - m' / (sqrt(v') / *correction + epsilon) * *rate
 *
 *   order      every operation is rounded by itself, from left to right: no fused multiply-add
 *   bits       equal in every variant, NaN payloads apart
 *   aliasing   each result may be exactly any one of g, more, m, v and w; no other overlap
 *   reads      exactly n floats of g, more, m, v and w, one of each scalar; no alignment
 *   writes     exactly n floats of each result
 */
#ifndef TAKT_KERNEL_ADAM_F32_H
#define TAKT_KERNEL_ADAM_F32_H

#include <stddef.h>

#include "kernel/kernel.h"

typedef struct takt_adam_f32 {
    size_t n;
    const float *g, *more, *m, *v, *w;               /* more may be NULL */
    const float *divisor, *keep, *correction, *rate; /* scalars; the first two may be NULL */
    float beta1, rest1, beta2, rest2, epsilon;
    float *m_next, *v_next, *w_next;
} takt_adam_f32;

typedef void takt_adam_f32_fn(const takt_adam_f32 *a);

TAKT_KERNEL_FAMILY(adam_f32, takt_adam_f32_fn)

#endif
