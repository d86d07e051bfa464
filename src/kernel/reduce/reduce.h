/* reduce.h - contract of the reductions, families reduce_f32, _f64, _i32, _i64, _u32, _u64.
 *
 *   computes   dst[r] = op over i < n of x(r, i), r < count, where
 *              x(r, i) = src[r * across + i / run * run_stride + i % run * step]
 *              Rows are step = 1, columns across = 1; both are fast, anything else is right.
 *   order      float sum, sumsq, prod: element i goes to lane i mod 16 (from +0, or 1), lanes fold
 *              8-4-2-1, chunks of 4096 elements are combined in order. sumsq: lane =
 *              fma(x, x, lane). To share one row among threads, cut i at multiples of
 *              TAKT_REDUCE_CHUNK and combine the parts in order with the family's own +, *, min or
 *              max: the same bits
 *   min, max   IEEE 754-2019 minimum and maximum; NaN propagates
 *   arg        dst is int64_t: the first index (_LAST: the last one) of an element equal to the
 *              extreme; of a NaN if there is one
 *   n = 0      sum 0, prod 1, max the lowest value, min the highest (floats: -inf, +inf), arg 0
 *   integers   wrap
 *   alignment  none beyond that of the element
 *   reads      exactly the elements named above
 *   aliasing   dst overlaps nothing
 */
#ifndef TAKT_KERNEL_REDUCE_REDUCE_H
#define TAKT_KERNEL_REDUCE_REDUCE_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "kernel/poll.h"

enum { TAKT_REDUCE_CHUNK = 4096, TAKT_REDUCE_LANES = 16 };

#define TAKT_REDUCE_OPS(X)                                                                         \
    X(SUM, "sum")                                                                                  \
    X(SUMSQ, "sumsq")                                                                              \
    X(PROD, "prod")                                                                                \
    X(MAX, "max")                                                                                  \
    X(MIN, "min")                                                                                  \
    X(ARGMAX, "argmax")                                                                            \
    X(ARGMIN, "argmin")                                                                            \
    X(ARGMAX_LAST, "argmax_last")                                                                  \
    X(ARGMIN_LAST, "argmin_last")

typedef enum takt_reduce_op {
#define X(NAME, name) TAKT_REDUCE_##NAME,
    TAKT_REDUCE_OPS(X)
#undef X
        TAKT_REDUCE_OP_COUNT
} takt_reduce_op;

typedef struct takt_reduce {
    takt_reduce_op op;
    void *dst;
    const void *src;
    size_t count;      /* results */
    size_t across;     /* elements between the first elements of two results */
    size_t n;          /* elements reduced to one result */
    size_t run;        /* this many of them are `step` apart; n or more if all are */
    size_t run_stride; /* elements from one such run to the next */
    size_t step;
    const takt_poll *poll; /* polled about every 2^17 elements; or NULL */
} takt_reduce;

typedef void takt_reduce_fn(const takt_reduce *r);

TAKT_KERNEL_FAMILY(reduce_f32, takt_reduce_fn)
TAKT_KERNEL_FAMILY(reduce_f64, takt_reduce_fn)
TAKT_KERNEL_FAMILY(reduce_i32, takt_reduce_fn)
TAKT_KERNEL_FAMILY(reduce_i64, takt_reduce_fn)
TAKT_KERNEL_FAMILY(reduce_u32, takt_reduce_fn)
TAKT_KERNEL_FAMILY(reduce_u64, takt_reduce_fn)

/* The position of x(r, i), in elements from src. */
static inline size_t takt_reduce_at(const takt_reduce *r, size_t result, size_t i)
{
    const size_t run = r->run < r->n ? r->run : r->n;
    return result * r->across + i / run * r->run_stride + i % run * r->step;
}

#endif
