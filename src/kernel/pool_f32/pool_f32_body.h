/* pool_f32_body.h - every variant of pool_f32 is this, compiled for its ISA. */
#include "kernel/pool_f32/pool_f32.h"
#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

enum { ABREAST = 4 }; /* vectors of channels at a time */

INLINE vf load(const float *p, size_t n)
{
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}

/* Taps [*first, *end) of output q lie inside the row. */
INLINE void inner_taps(const takt_pool_f32 *p, size_t q, size_t *first, size_t *end)
{
    const size_t at = q * p->stride;
    *first = at < p->before ? (p->before - at + p->dilation - 1) / p->dilation : 0;
    *end = at < p->width + p->before ? (p->width + p->before - at - 1) / p->dilation + 1 : 0;
    *end = *end < p->taps ? *end : p->taps;
}

/* `count` vectors of channels from c; n lanes of the last one, which is whole if count > 1. */
INLINE void vectors(const takt_pool_f32 *p, size_t q, size_t c, const size_t count, size_t n)
{
    vf acc[ABREAST];
    for (size_t v = 0; v < count; v++)
        acc[v] = p->divisor != NULL ? vf_zero() : vf_set1(-INFINITY);
    size_t first, end;
    inner_taps(p, q, &first, &end);
    for (size_t i = 0; i < p->rows; i++) {
        if (p->x[i] == NULL)
            continue;
        for (size_t j = first; j < end; j++) {
            const float *x =
                p->x[i] + (q * p->stride + j * p->dilation - p->before) * p->channels + c;
            for (size_t v = 0; v < count; v++) {
                const vf e = load(x + v * VF, n);
                acc[v] = p->divisor != NULL ? vf_add(acc[v], e) : vf_max(acc[v], e);
            }
        }
    }
    for (size_t v = 0; v < count; v++) {
        if (p->divisor != NULL)
            acc[v] = p->divisor[q] > 0 ? vf_div(acc[v], vf_set1(p->divisor[q])) : vf_zero();
        float *y = p->y + q * p->channels + c + v * VF;
        if (n == VF)
            vf_store(y, acc[v]);
        else
            vf_store_n(y, acc[v], n);
    }
}

static void run(const takt_pool_f32 *p)
{
    for (size_t q = 0; q < p->columns; q++) {
        size_t c = 0;
        for (; c + ABREAST * VF <= p->channels; c += ABREAST * VF)
            vectors(p, q, c, ABREAST, VF);
        for (; c + VF <= p->channels; c += VF)
            vectors(p, q, c, 1, VF);
        if (c < p->channels)
            vectors(p, q, c, 1, p->channels - c);
    }
}

TAKT_KERNELS(pool_f32, TAKT_KERNEL(pool_f32, SIMD_NAME, SIMD_RANK, run, NULL));
