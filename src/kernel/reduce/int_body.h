/* int_body.h - integer reductions. Order does not matter to integers that wrap, so the loops are
 * plain C for the compiler to vectorise. Included after T, U, LOWEST and HIGHEST.
 */
#ifndef TAKT_KERNEL_REDUCE_INT_BODY_H
#define TAKT_KERNEL_REDUCE_INT_BODY_H

#include "kernel/reduce/reduce.h"

#define INLINE static inline __attribute__((always_inline))

enum { TILE = 256, POLLED = 1 << 17 };

INLINE T identity(takt_reduce_op op)
{
    switch (op) {
    case TAKT_REDUCE_MAX: return LOWEST;
    case TAKT_REDUCE_MIN: return HIGHEST;
    case TAKT_REDUCE_PROD: return 1;
    default: return 0;
    }
}

INLINE T join(takt_reduce_op op, T a, T x)
{
    switch (op) {
    case TAKT_REDUCE_MAX: return x > a ? x : a;
    case TAKT_REDUCE_MIN: return x < a ? x : a;
    case TAKT_REDUCE_PROD: return (T)((U)a * (U)x);
    case TAKT_REDUCE_SUMSQ: return (T)((U)a + (U)x * (U)x);
    default: return (T)((U)a + (U)x);
    }
}

INLINE void reduce_as(takt_reduce_op op, const takt_reduce *r)
{
    T *d = r->dst;
    const size_t run = r->run < r->n ? r->run : r->n;
    for (size_t first = 0; first < r->count; first += TILE) {
        const size_t width = r->count - first < TILE ? r->count - first : TILE;
        T total[TILE];
        for (size_t c = 0; c < width; c++)
            total[c] = identity(op);
        if (r->across == 1) {
            for (size_t i = 0; i < r->n; i++) {
                if (i % (POLLED / TILE) == 0 && i > 0 && takt_poll_stops(r->poll))
                    return;
                const T *x = (const T *)r->src + takt_reduce_at(r, first, i);
                for (size_t c = 0; c < width; c++)
                    total[c] = join(op, total[c], x[c]);
            }
        } else {
            for (size_t c = 0; c < width; c++)
                for (size_t i = 0, m; i < r->n; i += m) {
                    const T *x = (const T *)r->src + takt_reduce_at(r, first + c, i);
                    const size_t left = run - i % run, most = left < POLLED ? left : POLLED;
                    T sum = total[c];
                    m = most < r->n - i ? most : r->n - i;
                    for (size_t k = 0; k < m; k++)
                        sum = join(op, sum, x[k * r->step]);
                    total[c] = sum;
                    if (m == POLLED && takt_poll_stops(r->poll))
                        return;
                }
        }
        for (size_t c = 0; c < width; c++)
            d[first + c] = total[c];
    }
}

static void arg(const takt_reduce *r)
{
    const bool is_max = r->op == TAKT_REDUCE_ARGMAX || r->op == TAKT_REDUCE_ARGMAX_LAST;
    const bool is_last = r->op == TAKT_REDUCE_ARGMAX_LAST || r->op == TAKT_REDUCE_ARGMIN_LAST;
    const T *x = r->src;
    for (size_t k = 0; k < r->count; k++) {
        size_t best = 0;
        T extreme = r->n > 0 ? x[takt_reduce_at(r, k, 0)] : 0;
        for (size_t i = 1; i < r->n; i++) {
            if (i % POLLED == 0 && takt_poll_stops(r->poll))
                return;
            const T value = x[takt_reduce_at(r, k, i)];
            if ((is_last && value == extreme) || (is_max ? value > extreme : value < extreme)) {
                best = i;
                extreme = value;
            }
        }
        ((int64_t *)r->dst)[k] = (int64_t)best;
    }
}

static void reduce(const takt_reduce *r)
{
    switch (r->op) {
    case TAKT_REDUCE_SUM: reduce_as(TAKT_REDUCE_SUM, r); break;
    case TAKT_REDUCE_SUMSQ: reduce_as(TAKT_REDUCE_SUMSQ, r); break;
    case TAKT_REDUCE_PROD: reduce_as(TAKT_REDUCE_PROD, r); break;
    case TAKT_REDUCE_MAX: reduce_as(TAKT_REDUCE_MAX, r); break;
    case TAKT_REDUCE_MIN: reduce_as(TAKT_REDUCE_MIN, r); break;
    default: arg(r); break;
    }
}

#endif
