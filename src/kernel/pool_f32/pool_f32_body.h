/* pool_f32_body.h - every variant of pool_f32 is this, compiled for its ISA. */
#include "kernel/pool_f32/pool_f32.h"

#include <stdbool.h>

#include "kernel/simd/simd.h"

#define INLINE static inline __attribute__((always_inline))

enum { ABREAST = 8 }; /* vectors of channels at a time */

INLINE vf load(const float *p, size_t n)
{
    return n == VF ? vf_load(p) : vf_load_n(p, n);
}

/* Output q, and its taps [first, end) that lie inside the row. */
typedef struct place {
    size_t q, first, end;
} place;

INLINE place place_of(const takt_pool_f32 *p, size_t q)
{
    const size_t at = q * p->stride;
    place o = {q, 0, p->taps};
    if (at >= p->before && at + (p->taps - 1) * p->dilation < p->width + p->before)
        return o; /* as most do: without a division */
    o.first = at < p->before ? (p->before - at + p->dilation - 1) / p->dilation : 0;
    o.end = at < p->width + p->before ? (p->width + p->before - at - 1) / p->dilation + 1 : 0;
    o.end = o.end < p->taps ? o.end : p->taps;
    return o;
}

/* `count` vectors of channels from c; n lanes of the last one, which is whole if count > 1. */
INLINE void vectors(const takt_pool_f32 *p, place o, size_t c, const size_t count, size_t n,
                    const bool is_sum)
{
    const size_t step = p->dilation * p->channels;
    vf acc[ABREAST];
    for (size_t v = 0; v < count; v++)
        acc[v] = is_sum ? vf_zero() : vf_set1(-INFINITY);
    for (size_t i = 0; i < p->rows; i++) {
        if (p->x[i] == NULL || o.first >= o.end)
            continue;
        const float *x =
            p->x[i] + (o.q * p->stride + o.first * p->dilation - p->before) * p->channels + c;
        for (size_t j = o.first; j < o.end; j++, x += step)
            for (size_t v = 0; v < count; v++) {
                const vf e = load(x + v * VF, n);
                acc[v] = is_sum ? vf_add(acc[v], e) : vf_max(acc[v], e);
            }
    }
    for (size_t v = 0; v < count; v++) {
        if (is_sum)
            acc[v] = p->divisor[o.q] > 0 ? vf_div(acc[v], vf_set1(p->divisor[o.q])) : vf_zero();
        float *y = p->y + o.q * p->channels + c + v * VF;
        if (n == VF)
            vf_store(y, acc[v]);
        else
            vf_store_n(y, acc[v], n);
    }
}

/* All channels of output q. */
INLINE void output(const takt_pool_f32 *p, size_t q, const bool is_sum)
{
    const place o = place_of(p, q);
    size_t c = 0;
    for (; c + ABREAST * VF <= p->channels; c += ABREAST * VF)
        vectors(p, o, c, ABREAST, VF, is_sum);
    for (; c + ABREAST / 2 * VF <= p->channels; c += ABREAST / 2 * VF)
        vectors(p, o, c, ABREAST / 2, VF, is_sum);
    for (; c + VF <= p->channels; c += VF)
        vectors(p, o, c, 1, VF, is_sum);
    if (c < p->channels)
        vectors(p, o, c, 1, p->channels - c, is_sum);
}

/* `n` channels from c of an output whose taps are all inside, `size` by `size` of them. */
INLINE void largest(const takt_pool_f32 *p, size_t q, size_t c, size_t n, const size_t size)
{
    const size_t at = (q * p->stride - p->before) * p->channels + c;
    vf acc = load(p->x[0] + at, n);
#pragma GCC unroll 9
    for (size_t t = 1; t < size * size; t++)
        acc = vf_max(acc, load(p->x[t / size] + at + t % size * p->channels, n));
    float *y = p->y + q * p->channels + c;
    if (n == VF)
        vf_store(y, acc);
    else
        vf_store_n(y, acc, n);
}

INLINE void window(const takt_pool_f32 *p, size_t q, const size_t size)
{
    size_t c = 0;
    for (; c + VF <= p->channels; c += VF)
        largest(p, q, c, VF, size);
    if (c < p->channels)
        largest(p, q, c, p->channels - c, size);
}

/* Outputs [q, return value) are done: square windows without dilation, as most pools have them. */
static size_t whole_windows(const takt_pool_f32 *given, size_t q)
{
    takt_pool_f32 copy = *given;
    const takt_pool_f32 *p = &copy;
    const float *rows[3];
    if (p->divisor != NULL || p->dilation != 1 || p->rows != p->taps || p->rows < 2 || p->rows > 3)
        return q;
    for (size_t i = 0; i < p->rows; i++)
        if ((rows[i] = p->x[i]) == NULL)
            return q;
    const size_t room = p->width + p->before;
    copy.x = rows;
    for (; q < p->columns && q * p->stride + p->taps <= room; q++)
        if (p->rows == 2)
            window(p, q, 2);
        else
            window(p, q, 3);
    return q;
}

static void run(const takt_pool_f32 *p)
{
    for (size_t q = 0; q < p->columns; q++) {
        if (q * p->stride >= p->before && (q == 0 || (q - 1) * p->stride < p->before))
            q = whole_windows(p, q);
        if (q == p->columns)
            return;
        if (p->divisor != NULL)
            output(p, q, true);
        else
            output(p, q, false);
    }
}

TAKT_KERNELS(pool_f32, TAKT_KERNEL(pool_f32, SIMD_NAME, SIMD_RANK, run, NULL));
