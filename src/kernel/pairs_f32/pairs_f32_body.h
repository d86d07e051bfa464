/* pairs_f32_body.h - every variant of pairs_f32 is this, compiled for its ISA.
 *
 * Columns share what is loaded from b, and enough of them at a time hide the time of an fma.
 */
#include "kernel/pairs_f32/pairs_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

INLINE vf load(const float *p, size_t n)
{
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}

/* `count` columns from j, one vector of n channels from c. */
INLINE void vectors(const takt_pairs_f32 *p, size_t j, const size_t count, size_t c, size_t n)
{
    vf acc[8];
    const float *const *a[8];
    for (size_t k = 0; k < count; k++) {
        acc[k] = vf_zero();
        a[k] = p->a + (j + k) * p->terms;
    }
    for (size_t i = 0; i < p->terms; i++) {
        const vf b = load(p->b[i] + c, n);
        for (size_t k = 0; k < count; k++)
            acc[k] = vf_fma(load(a[k][i] + c, n), b, acc[k]);
    }
    for (size_t k = 0; k < count; k++) {
        float *y = p->y + (j + k) * p->step + c;
        if (p->adds)
            acc[k] = vf_add(load(y, n), acc[k]);
        if (n == VF)
            vf_store(y, acc[k]);
        else
            vf_store_n(y, acc[k], n);
    }
}

INLINE void channels(const takt_pairs_f32 *p, size_t j, const size_t count)
{
    size_t c = 0;
    for (; c + VF <= p->channels; c += VF)
        vectors(p, j, count, c, VF);
    if (c < p->channels)
        vectors(p, j, count, c, p->channels - c);
}

/* Works on a constant copy of the job: stores cannot change its fields. */
static void run(const takt_pairs_f32 *given)
{
    const takt_pairs_f32 copy = *given, *p = &copy;
    size_t j = 0;
    for (; j + 8 <= p->columns; j += 8)
        channels(p, j, 8);
    for (; j + 3 <= p->columns; j += 3)
        channels(p, j, 3);
    for (; j < p->columns; j++)
        channels(p, j, 1);
}

TAKT_KERNELS(pairs_f32, TAKT_KERNEL(pairs_f32, SIMD_NAME, SIMD_RANK, run, NULL));
