/* lanes.h - sixteen virtual lanes over contiguous elements of one float type.
 *
 * Included after T, vec, LANES and VEC(name), as in map/float_drive.h. The contract fixes sixteen
 * lanes, so speed comes from taking several streams (rows, or chunks of one row) at once: a single
 * stream leaves most of a processor's adders idle. Of many rows or chunks, those FAR apart are
 * taken together, since distant streams are read faster from beyond the caches than neighbouring
 * ones. On NEON, chunks of a long row are taken from that many equal parts of it, and prefetch what
 * they read next; doubles use three parts, since the lanes of four leave no register for loads.
 */
#ifndef TAKT_KERNEL_REDUCE_LANES_H
#define TAKT_KERNEL_REDUCE_LANES_H

#include "kernel/reduce/reduce.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    WIDE = TAKT_REDUCE_LANES,
    CHUNK = TAKT_REDUCE_CHUNK,
    REGS = TAKT_REDUCE_LANES / LANES, /* vectors that hold the lanes of one stream */
    STREAMS = 4,
    FAR = 8,
    HAS_PARTS = TAKT_SIMD_SET == 2,
    PARTS = sizeof(T) == 8 ? 3 : STREAMS, /* of a long row */
    ASKED = 512                           /* bytes ahead */
};

/* The lines of sixteen elements. */
INLINE void ask(const T *from)
{
    enum { LINE = 64 / sizeof(T) };
    for (size_t i = 0; i < WIDE; i += LINE)
        __builtin_prefetch((const char *)(from + i) + ASKED);
}

INLINE T identity(takt_reduce_op op)
{
    switch (op) {
    case TAKT_REDUCE_MAX: return -(T)INFINITY;
    case TAKT_REDUCE_MIN: return (T)INFINITY;
    case TAKT_REDUCE_PROD: return 1;
    default: return 0;
    }
}

/* One element joins a lane. */
INLINE vec join(takt_reduce_op op, vec lane, vec x)
{
    switch (op) {
    case TAKT_REDUCE_MAX: return VEC(max)(lane, x);
    case TAKT_REDUCE_MIN: return VEC(min)(lane, x);
    case TAKT_REDUCE_PROD: return VEC(mul)(lane, x);
    case TAKT_REDUCE_SUMSQ: return VEC(fma)(x, x, lane);
    default: return VEC(add)(lane, x);
    }
}

/* Two lanes, or two chunks, become one. */
INLINE vec merge(takt_reduce_op op, vec a, vec b)
{
    return join(op == TAKT_REDUCE_SUMSQ ? TAKT_REDUCE_SUM : op, a, b);
}

INLINE T merge_one(takt_reduce_op op, T a, T b)
{
    T r[LANES];
    VEC(store)(r, merge(op, VEC(set1)(a), VEC(set1)(b)));
    return r[0];
}

INLINE T fold(takt_reduce_op op, T *lane)
{
    for (size_t half = WIDE / 2; half >= LANES; half /= 2)
        for (size_t i = 0; i < half; i += LANES) {
            const vec a = VEC(load)(lane + i), b = VEC(load)(lane + i + half);
            VEC(store)(lane + i, merge(op, a, b));
        }
#ifdef SIMD_UPPER
    /* The same pairs, in a register; the other lanes are unused. */
    vec all = VEC(load)(lane);
    for (int half = LANES / 2; half > 0; half /= 2)
        all = merge(op, all, VEC(upper)(all, half));
    VEC(store)(lane, all);
#else
    for (size_t half = LANES / 2; half > 0; half /= 2)
        for (size_t i = 0; i < half; i++)
            lane[i] = merge_one(op, lane[i], lane[i + half]);
#endif
    return lane[0];
}

/* Joins x[s][0..n) to lane[s], for each of `streams`; n may be any number, but only the last call
 * for a chunk may have one that is not a multiple of 16. Lanes without an element in the tail take
 * the identity, which changes nothing: no sum here is ever -0. */
INLINE void feed(takt_reduce_op op, T (*lane)[WIDE], const T *const *x, int streams, size_t n,
                 bool asks)
{
    vec acc[STREAMS][REGS];
    for (int s = 0; s < streams; s++)
        for (int k = 0; k < REGS; k++)
            acc[s][k] = VEC(load)(lane[s] + k * LANES);
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE)
        for (int s = 0; s < streams; s++) {
            if (asks)
                ask(x[s] + i);
            for (int k = 0; k < REGS; k++)
                acc[s][k] = join(op, acc[s][k], VEC(load)(x[s] + i + k * LANES));
        }
    for (int s = 0; s < streams && i < n; s++) {
        T tail[WIDE];
        for (int k = 0; k < WIDE; k++)
            tail[k] = identity(op);
        memcpy(tail, x[s] + i, (n - i) * sizeof *tail);
        for (int k = 0; k < REGS; k++)
            acc[s][k] = join(op, acc[s][k], VEC(load)(tail + k * LANES));
    }
    for (int s = 0; s < streams; s++)
        for (int k = 0; k < REGS; k++)
            VEC(store)(lane[s] + k * LANES, acc[s][k]);
}

/* The value of one chunk, n <= CHUNK, of each stream. */
INLINE void chunks(takt_reduce_op op, T *out, const T *const *x, int streams, size_t n, bool asks)
{
    T lane[STREAMS][WIDE];
    for (int s = 0; s < streams; s++)
        for (int k = 0; k < WIDE; k++)
            lane[s][k] = identity(op);
    feed(op, lane, x, streams, n, asks);
    for (int s = 0; s < streams; s++)
        out[s] = fold(op, lane[s]);
}

/* The values of four whole chunks that are FAR from each other, and so are the values. */
INLINE void far_chunks(takt_reduce_op op, T *out, const T *x)
{
    T part[STREAMS];
    const T *const from[STREAMS] = {x, x + FAR * CHUNK, x + 2 * FAR * CHUNK, x + 3 * FAR * CHUNK};
    chunks(op, part, from, STREAMS, CHUNK, false);
    for (size_t s = 0; s < STREAMS; s++)
        out[s * FAR] = part[s];
}

/* All of one contiguous row: four whole chunks at a time while there are as many. */
INLINE T row(takt_reduce_op op, const T *x, size_t n, const takt_poll *poll)
{
    T part[STREAMS * FAR], total = identity(op);
    size_t i = 0;
    for (; i + STREAMS * FAR * CHUNK <= n; i += STREAMS * FAR * CHUNK) {
        if (takt_poll_stops(poll))
            return total;
        for (size_t j = 0; j < FAR; j++)
            far_chunks(op, part + j, x + i + j * CHUNK);
        for (size_t j = 0; j < STREAMS * FAR; j++)
            total = i + j == 0 ? part[j] : merge_one(op, total, part[j]);
    }
    for (; i + STREAMS * CHUNK <= n; i += STREAMS * CHUNK) {
        const T *const from[STREAMS] = {x + i, x + i + CHUNK, x + i + 2 * CHUNK, x + i + 3 * CHUNK};
        chunks(op, part, from, STREAMS, CHUNK, false);
        for (int s = 0; s < STREAMS; s++)
            total = i + (size_t)s == 0 ? part[s] : merge_one(op, total, part[s]);
    }
    for (; i < n; i += CHUNK) {
        const T *const from[1] = {x + i};
        chunks(op, part, from, 1, n - i < CHUNK ? n - i : CHUNK, false);
        total = i == 0 ? part[0] : merge_one(op, total, part[0]);
    }
    return total;
}

/* Four rows, `stride` elements and `apart` results from each other, side by side. */
INLINE void four_rows(takt_reduce_op op, T *to, const T *x, size_t stride, size_t apart,
                      const takt_reduce *r)
{
    const size_t n = r->n;
    T out[STREAMS];
    for (int s = 0; s < STREAMS; s++)
        out[s] = identity(op);
    for (size_t i = 0; i < n; i += CHUNK) {
        if (i % (FAR * CHUNK) == 0 && i > 0 && takt_poll_stops(r->poll))
            return;
        const T *const from[STREAMS] = {x + i, x + stride + i, x + 2 * stride + i,
                                        x + 3 * stride + i};
        T part[STREAMS];
        chunks(op, part, from, STREAMS, n - i < CHUNK ? n - i : CHUNK, false);
        for (int s = 0; s < STREAMS; s++)
            out[s] = i == 0 ? part[s] : merge_one(op, out[s], part[s]);
    }
    for (size_t s = 0; s < STREAMS; s++)
        to[s * apart] = out[s];
}

/* The values of chunks that follow each other, of equal parts; returns how many those are. */
INLINE size_t parts(takt_reduce_op op, T *to, const T *x, size_t count)
{
    enum { FEWEST = 8 }; /* chunks of a part */
    const size_t each = count / PARTS;
    if (!HAS_PARTS || each < FEWEST)
        return 0;
    for (size_t i = 0; i < each; i++) {
        T value[PARTS];
        const T *from[PARTS];
        for (size_t s = 0; s < PARTS; s++)
            from[s] = x + (s * each + i) * CHUNK;
        chunks(op, value, from, PARTS, CHUNK, true);
        for (size_t s = 0; s < PARTS; s++)
            to[s * each + i] = value[s];
    }
    return each * PARTS;
}

#endif
