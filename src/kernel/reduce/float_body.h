/* float_body.h - float reductions over rows, columns and anything else. */
#ifndef TAKT_KERNEL_REDUCE_FLOAT_BODY_H
#define TAKT_KERNEL_REDUCE_FLOAT_BODY_H

#include "kernel/reduce/lanes.h"

enum { TILE = 256 / sizeof(T), GATHER = 256 };

static bool is_one_run(const takt_reduce *r)
{
    return r->run >= r->n;
}

/* Rows of n <= 4 elements, LANES rows at a time: a vector for each element, where the sixteen lanes
 * of the contract would be nearly empty. Those are left out, since they change nothing: no sum here
 * is ever -0. Returns how many rows that was. */
INLINE size_t short_rows(takt_reduce_op op, const takt_reduce *r, const size_t n)
{
    size_t i = 0;
    for (; i + LANES <= r->count; i += LANES) {
        const T *x = (const T *)r->src + i * r->across;
        vec lane[4];
        for (size_t j = 0; j < n; j++) {
            T one[LANES];
            for (size_t k = 0; k < LANES; k++)
                one[k] = x[k * r->across + j];
            lane[j] = join(op, VEC(set1)(identity(op)), VEC(load)(one));
        }
        if (n > 2)
            lane[0] = merge(op, lane[0], lane[2]);
        if (n > 3)
            lane[1] = merge(op, lane[1], lane[3]);
        VEC(store)((T *)r->dst + i, merge(op, lane[0], lane[1]));
    }
    return i;
}

/* Rows that a faster way than four at a time has taken. */
INLINE size_t first_rows(takt_reduce_op op, const takt_reduce *r)
{
    switch (r->n) {
    case 2: return short_rows(op, r, 2);
    case 3: return short_rows(op, r, 3);
    case 4: return short_rows(op, r, 4);
    case CHUNK: return r->across == CHUNK ? parts(op, r->dst, r->src, r->count) : 0;
    default: return 0;
    }
}

INLINE void rows(takt_reduce_op op, const takt_reduce *r)
{
    T *d = r->dst;
    const T *x = r->src;
    size_t i = first_rows(op, r);
    while (i + STREAMS <= r->count) {
        const size_t apart = i + STREAMS * FAR <= r->count ? FAR : 1;
        for (size_t j = 0; j < apart; j++)
            four_rows(op, d + i + j, x + (i + j) * r->across, apart * r->across, apart, r);
        i += STREAMS * apart;
    }
    for (; i < r->count; i++)
        d[i] = row(op, x + i * r->across, r->n, r->poll);
}

/* The lanes of `width` neighbouring columns, for rows [first, last) of one chunk. */
INLINE void column_lanes(takt_reduce_op op, T (*lane)[TILE], const takt_reduce *r, size_t column,
                         size_t first, size_t last)
{
    const size_t width = r->count - column < TILE ? r->count - column : TILE;
    size_t used = WIDE; /* lanes that rows can be in; the others change nothing, as in short_rows */
    while (used > 1 && used / 2 >= last - first)
        used /= 2;
    for (size_t k = 0; k < used; k++)
        for (size_t c = 0; c < width; c += LANES)
            VEC(store)(lane[k] + c, VEC(set1)(identity(op)));
    for (size_t i = first; i < last; i++) {
        const T *x = (const T *)r->src + takt_reduce_at(r, 0, i) + column;
        T *to = lane[i % WIDE];
        size_t c = 0;
        for (; c + LANES <= width; c += LANES)
            VEC(store)(to + c, join(op, VEC(load)(to + c), VEC(load)(x + c)));
        if (c < width)
            VEC(store)(to + c, join(op, VEC(load)(to + c), VEC(load_n)(x + c, width - c)));
    }
    for (size_t half = used / 2; half > 0; half /= 2)
        for (size_t k = 0; k < half; k++)
            for (size_t c = 0; c < width; c += LANES) {
                const vec a = VEC(load)(lane[k] + c), b = VEC(load)(lane[k + half] + c);
                VEC(store)(lane[k] + c, merge(op, a, b));
            }
}

/* Several columns at a time, each with its own sixteen lanes; rows are read in memory order. */
INLINE void columns(takt_reduce_op op, const takt_reduce *r)
{
    T lane[WIDE][TILE], total[TILE];
    for (size_t column = 0; column < r->count; column += TILE) {
        const size_t width = r->count - column < TILE ? r->count - column : TILE;
        for (size_t c = 0; c < TILE; c++)
            total[c] = identity(op);
        for (size_t i = 0; i < r->n; i += CHUNK) {
            if (i > 0 && takt_poll_stops(r->poll))
                return;
            const size_t last = r->n - i < CHUNK ? r->n : i + CHUNK;
            column_lanes(op, lane, r, column, i, last);
            for (size_t c = 0; c < width; c += LANES) {
                const vec part = VEC(load)(lane[0] + c);
                const vec sum = i == 0 ? part : merge(op, VEC(load)(total + c), part);
                VEC(store)(total + c, sum);
            }
        }
        memcpy((T *)r->dst + column, total, width * sizeof *total);
    }
}

/* Any strides: elements are gathered a block at a time. */
INLINE void scattered(takt_reduce_op op, const takt_reduce *r)
{
    for (size_t k = 0; k < r->count; k++) {
        T lane[1][WIDE], total = identity(op), block[GATHER];
        const T *const from[1] = {block};
        for (size_t i = 0; i < r->n; i += GATHER) {
            if (i % (16 * CHUNK) == 0 && i > 0 && takt_poll_stops(r->poll))
                return;
            const size_t m = r->n - i < GATHER ? r->n - i : GATHER;
            for (size_t j = 0; j < m; j++)
                block[j] = ((const T *)r->src)[takt_reduce_at(r, k, i + j)];
            for (int j = 0; j < WIDE && i % CHUNK == 0; j++)
                lane[0][j] = identity(op);
            feed(op, lane, from, 1, m, false);
            if (i + m == r->n || (i + m) % CHUNK == 0) {
                const T part = fold(op, lane[0]);
                total = i < CHUNK ? part : merge_one(op, total, part);
            }
        }
        ((T *)r->dst)[k] = total;
    }
}

INLINE void reduce_as(takt_reduce_op op, const takt_reduce *r)
{
    if (r->step == 1 && is_one_run(r))
        rows(op, r);
    else if (r->across == 1)
        columns(op, r);
    else
        scattered(op, r);
}

#include "kernel/reduce/float_arg.h"

/* A function each, so that their tiles do not add up to one large frame. */
#define REDUCE(name, op)                                                                           \
    static __attribute__((noinline)) void name(const takt_reduce *r)                               \
    {                                                                                              \
        reduce_as(op, r);                                                                          \
    }
REDUCE(sum, TAKT_REDUCE_SUM)
REDUCE(sumsq, TAKT_REDUCE_SUMSQ)
REDUCE(prod, TAKT_REDUCE_PROD)
REDUCE(max, TAKT_REDUCE_MAX)
REDUCE(min, TAKT_REDUCE_MIN)

static void reduce(const takt_reduce *r)
{
    switch (r->op) {
    case TAKT_REDUCE_SUM: sum(r); break;
    case TAKT_REDUCE_SUMSQ: sumsq(r); break;
    case TAKT_REDUCE_PROD: prod(r); break;
    case TAKT_REDUCE_MAX: max(r); break;
    case TAKT_REDUCE_MIN: min(r); break;
    default: arg(r); break;
    }
}

#endif
