/* pool_dx_f32_body.h - every variant of pool_dx_f32 is this, compiled for its ISA.
 *
 * The place of the largest element is found first, as a number per lane; then every element of the
 * window gets its share where it is the one.
 */
#include "kernel/pool_dx_f32/pool_dx_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

INLINE vf load(const float *p, size_t n)
{
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}

INLINE void store(float *p, vf v, size_t n)
{
    if (n == VF)
        vf_store(p, v);
    else
        vf_store_n(p, v, n);
}

/* Output q: its taps [first, end) that lie inside, and where the first would be. */
typedef struct place {
    size_t q, first, end;
} place;

INLINE size_t position(const takt_pool_dx_f32 *p, const place *o, size_t j)
{
    return (o->q * p->stride + j * p->dilation - p->before) * p->step;
}

static place place_of(const takt_pool_dx_f32 *p, size_t q)
{
    const size_t at = q * p->stride;
    place o = {q, 0, p->taps};
    o.first = at < p->before ? (p->before - at + p->dilation - 1) / p->dilation : 0;
    o.end = at < p->width + p->before ? (p->width + p->before - at - 1) / p->dilation + 1 : 0;
    o.end = o.end < p->taps ? o.end : p->taps;
    return o;
}

/* The number of the largest element in each lane, -1: there is none. */
INLINE vf find(const takt_pool_dx_f32 *p, const place *o, size_t c, size_t n)
{
    vf best = vf_zero(), which = vf_set1(-1);
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = o->first; p->x[i] != NULL && j < o->end; j++) {
            const vf e = load(p->x[i] + position(p, o, j) + c, n);
            const vm is_new = vf_lt(which, vf_zero());
            const vm is_more = vm_or(vf_gt(e, best), vm_and(vf_isnan(e), vm_not(vf_isnan(best))));
            const vm takes = vm_or(is_new, is_more);
            best = vf_select(takes, e, best);
            which = vf_select(takes, vf_set1((float)(i * p->taps + j)), which);
        }
    return which;
}

INLINE void lanes(const takt_pool_dx_f32 *p, const place *o, size_t c, size_t n)
{
    const bool is_largest = p->divisor == NULL;
    vf d = load(p->dy + o->q * p->step + c, n);
    const vf which = is_largest ? find(p, o, c, n) : vf_zero();
    if (!is_largest)
        d = vf_div(d, vf_set1(p->divisor[o->q]));
    for (size_t i = 0; i < p->rows; i++)
        for (size_t j = o->first; p->dx[i] != NULL && j < o->end; j++) {
            float *to = p->dx[i] + position(p, o, j) + c;
            const vf old = load(to, n), sum = vf_add(old, d);
            const vm here = vf_eq(which, vf_set1((float)(i * p->taps + j)));
            store(to, is_largest ? vf_select(here, sum, old) : sum, n);
        }
}

static void run(const takt_pool_dx_f32 *given)
{
    const takt_pool_dx_f32 copy = *given, *p = &copy;
    for (size_t q = 0; q < p->columns; q++) {
        const place o = place_of(p, q);
        size_t c = 0;
        for (; c + VF <= p->channels; c += VF)
            lanes(p, &o, c, VF);
        if (c < p->channels)
            lanes(p, &o, c, p->channels - c);
    }
}

TAKT_KERNELS(pool_dx_f32, TAKT_KERNEL(pool_dx_f32, SIMD_NAME, SIMD_RANK, run, NULL));
