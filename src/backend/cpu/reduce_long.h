/* reduce_long.h - long rows and columns reduced chunk by chunk, so that threads can share one.
 *
 * The contract of the kernels (kernel/reduce/reduce.h) is that chunks are combined in order: a row
 * in parts has the bits of a row at once.
 */
#ifndef TAKT_BACKEND_CPU_REDUCE_LONG_H
#define TAKT_BACKEND_CPU_REDUCE_LONG_H

#include "ir/dtype.h"
#include "kernel/convert/convert.h"
#include "kernel/reduce/reduce.h"

typedef struct takt_reduce_long {
    takt_reduce_fn *run;
    takt_reduce_op op; /* no arg */
    takt_dtype dtype;  /* one that has a family */
    size_t rows, n;    /* n > 0; x is [rows, n, inner], the result [rows, inner] */
    size_t inner;
    takt_convert_fn *convert; /* of elements of type `from` */
    takt_dtype from;
} takt_reduce_long;

/* Chunks of one row. */
size_t takt_reduce_long_chunks(const takt_reduce_long *l);
/* The work that threads share: chunks of all rows, of TAKT_REDUCE_LANES columns if inner > 1. */
size_t takt_reduce_long_units(const takt_reduce_long *l);
/* Reduces units [first, end) into `parts`, which is [rows, chunks, inner]. */
void takt_reduce_long_parts(const takt_reduce_long *l, const void *x, size_t first, size_t end,
                            void *parts);
/* The same where elements are narrower: each chunk is widened into `chunk` first, which has room
 * for that many elements. */
size_t takt_reduce_long_room(const takt_reduce_long *l);
void takt_reduce_long_widened(const takt_reduce_long *l, const void *x, size_t first, size_t end,
                              void *parts, void *chunk);
/* The results from the parts of all chunks. */
void takt_reduce_long_join(const takt_reduce_long *l, const void *parts, void *y);

#endif
