/* walk.h - visits an array of the interpreter in another array's order.
 *
 * A walk visits the elements of one shape in row-major order and tracks the index of the matching
 * element of another array: the broadcast operand of an element-wise op, or the result that an
 * element is reduced into.
 */
#ifndef TAKT_OP_UTIL_WALK_H
#define TAKT_OP_UTIL_WALK_H

#include "ir/op.h"

typedef struct takt_walk {
    int rank;
    int64_t dim[TAKT_MAX_RANK], step[TAKT_MAX_RANK];
    int64_t index[TAKT_MAX_RANK];
    size_t at; /* in the other array */
} takt_walk;

/* Iterates in the order of `over`; `at` is an index into `x`, which broadcasts to it. */
void takt_walk_broadcast(takt_walk *walk, const takt_array *x, const takt_array *over);
/* In the order of `over`; `at` is an index into the dense array without the flagged axes. */
void takt_walk_reduce(takt_walk *walk, const takt_array *over, const bool *is_reduced);
void takt_walk_next(takt_walk *walk);

/* The flags of a list of axes that inference has checked; an empty list means all. */
void takt_walk_axes(const takt_attr *axes, int rank, bool is_axis[static TAKT_MAX_RANK]);

/* An array as [outer][size][inner] around one axis, negative from the end. */
typedef struct takt_rows {
    size_t outer, size, inner;
} takt_rows;
takt_rows takt_rows_of(const takt_array *x, int64_t axis);

#endif
