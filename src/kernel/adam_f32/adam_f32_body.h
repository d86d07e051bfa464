/* adam_f32_body.h - every variant of adam_f32 is this, compiled for its ISA.
 *
 * Loads of a vector come before its stores, so results may overwrite operands. Whether there are a
 * divisor and a decay is known at compile time in each of four loops. One vector's root, quotients
 * and sums depend on each other, so several are computed at a time: then the divider is the limit.
 */
#include "kernel/adam_f32/adam_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

enum { ABREAST = VF == 4 ? 4 : 2 };

typedef struct scalars {
    vf beta1, rest1, beta2, rest2, epsilon, divisor, keep, correction, rate;
} scalars;

typedef struct values {
    vf m, v, w;
} values;

/* The new values of `count` vectors, in place of the old ones. */
INLINE void update(const scalars *s, vf *g, values *x, const int count, bool divides, bool decays)
{
    vf way[ABREAST];
    for (int k = 0; k < count; k++) {
        if (divides)
            g[k] = vf_div(g[k], s->divisor);
        const vf square = vf_mul(vf_mul(g[k], s->rest2), g[k]);
        x[k].m = vf_add(vf_mul(x[k].m, s->beta1), vf_mul(g[k], s->rest1));
        x[k].v = vf_add(vf_mul(x[k].v, s->beta2), square);
    }
    for (int k = 0; k < count; k++)
        way[k] = vf_sqrt(x[k].v);
    for (int k = 0; k < count; k++)
        way[k] = vf_div(way[k], s->correction);
    for (int k = 0; k < count; k++)
        way[k] = vf_mul(vf_div(x[k].m, vf_add(way[k], s->epsilon)), s->rate);
    for (int k = 0; k < count; k++)
        x[k].w = vf_sub(decays ? vf_mul(x[k].w, s->keep) : x[k].w, way[k]);
}

/* The gradient of `n` parameters from `i` on. */
INLINE vf gradient(const takt_adam_f32 *a, size_t i, size_t n)
{
    const vf g = n == VF ? vf_load(a->g + i) : vf_load_n(a->g + i, n);
    if (a->more == NULL)
        return g;
    return vf_add(g, n == VF ? vf_load(a->more + i) : vf_load_n(a->more + i, n));
}

INLINE void whole(const takt_adam_f32 *a, const scalars *s, size_t i, const int count, bool divides,
                  bool decays)
{
    vf g[ABREAST];
    values x[ABREAST];
    for (int k = 0; k < count; k++) {
        const size_t at = i + (size_t)k * VF;
        g[k] = gradient(a, at, VF);
        x[k] = (values){vf_load(a->m + at), vf_load(a->v + at), vf_load(a->w + at)};
    }
    update(s, g, x, count, divides, decays);
    for (int k = 0; k < count; k++) {
        const size_t at = i + (size_t)k * VF;
        vf_store(a->m_next + at, x[k].m);
        vf_store(a->v_next + at, x[k].v);
        vf_store(a->w_next + at, x[k].w);
    }
}

INLINE void loop(const takt_adam_f32 *a, const scalars *s, bool divides, bool decays)
{
    size_t i = 0;
    for (; i + ABREAST * VF <= a->n; i += ABREAST * VF)
        whole(a, s, i, ABREAST, divides, decays);
    for (; i + VF <= a->n; i += VF)
        whole(a, s, i, 1, divides, decays);
    const size_t rest = a->n - i;
    if (rest == 0)
        return;
    vf g = gradient(a, i, rest);
    values x = {vf_load_n(a->m + i, rest), vf_load_n(a->v + i, rest), vf_load_n(a->w + i, rest)};
    update(s, &g, &x, 1, divides, decays);
    vf_store_n(a->m_next + i, x.m, rest);
    vf_store_n(a->v_next + i, x.v, rest);
    vf_store_n(a->w_next + i, x.w, rest);
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
