/* adam_f32_body.h - every variant of adam_f32 is this, compiled for its ISA.
 *
 * Loads of a vector come before its stores, so results may lie over operands. Whether there are a
 * divisor and a decay is known at compile time in each of four loops.
 */
#include "kernel/adam_f32/adam_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

typedef struct scalars {
    vf beta1, rest1, beta2, rest2, epsilon, divisor, keep, correction, rate;
} scalars;

typedef struct values {
    vf m, v, w;
} values;

/* The new values of one vector. */
INLINE values update(const scalars *s, vf g, values old, bool divides, bool decays)
{
    if (divides)
        g = vf_div(g, s->divisor);
    const vf m = vf_add(vf_mul(old.m, s->beta1), vf_mul(g, s->rest1));
    const vf v = vf_add(vf_mul(old.v, s->beta2), vf_mul(vf_mul(g, s->rest2), g));
    const vf root = vf_add(vf_div(vf_sqrt(v), s->correction), s->epsilon);
    const vf way = vf_mul(vf_div(m, root), s->rate);
    return (values){m, v, vf_sub(decays ? vf_mul(old.w, s->keep) : old.w, way)};
}

/* The gradient of `n` parameters from `i` on. */
INLINE vf gradient(const takt_adam_f32 *a, size_t i, size_t n)
{
    const vf g = n == VF ? vf_load(a->g + i) : vf_load_n(a->g + i, n);
    if (a->more == NULL)
        return g;
    return vf_add(g, n == VF ? vf_load(a->more + i) : vf_load_n(a->more + i, n));
}

INLINE void loop(const takt_adam_f32 *a, const scalars *s, bool divides, bool decays)
{
    size_t i = 0;
    for (; i + VF <= a->n; i += VF) {
        const values old = {vf_load(a->m + i), vf_load(a->v + i), vf_load(a->w + i)};
        const values next = update(s, gradient(a, i, VF), old, divides, decays);
        vf_store(a->m_next + i, next.m);
        vf_store(a->v_next + i, next.v);
        vf_store(a->w_next + i, next.w);
    }
    const size_t rest = a->n - i;
    if (rest == 0)
        return;
    const values old = {vf_load_n(a->m + i, rest), vf_load_n(a->v + i, rest),
                        vf_load_n(a->w + i, rest)};
    const values next = update(s, gradient(a, i, rest), old, divides, decays);
    vf_store_n(a->m_next + i, next.m, rest);
    vf_store_n(a->v_next + i, next.v, rest);
    vf_store_n(a->w_next + i, next.w, rest);
}

static void run(const takt_adam_f32 *a)
{
    const scalars s = {.beta1 = vf_set1(a->beta1),
                       .rest1 = vf_set1(a->rest1),
                       .beta2 = vf_set1(a->beta2),
                       .rest2 = vf_set1(a->rest2),
                       .epsilon = vf_set1(a->epsilon),
                       .divisor = vf_set1(a->divisor != NULL ? *a->divisor : 1),
                       .keep = vf_set1(a->keep != NULL ? *a->keep : 1),
                       .correction = vf_set1(*a->correction),
                       .rate = vf_set1(*a->rate)};
    if (a->divisor != NULL && a->keep != NULL)
        loop(a, &s, true, true);
    else if (a->divisor != NULL)
        loop(a, &s, true, false);
    else if (a->keep != NULL)
        loop(a, &s, false, true);
    else
        loop(a, &s, false, false);
}

TAKT_KERNELS(adam_f32, TAKT_KERNEL(adam_f32, SIMD_NAME, SIMD_RANK, run, NULL));
