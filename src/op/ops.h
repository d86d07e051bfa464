/* ops.h - the op records that many files name, and shortcuts that append the common ones.
 *
 * grad, lower, passes and layers use the builders below. Failures are sticky: an input of TAKT_NONE
 * gives TAKT_NONE.
 */
#ifndef TAKT_OP_OPS_H
#define TAKT_OP_OPS_H

#include "ir/attr.h"
#include "ir/graph.h"

#define TAKT_NAMED(stem) extern const takt_op takt_op_##stem;
#include "op/named.def"
#undef TAKT_NAMED

takt_id takt_unary(takt_graph *g, const takt_op *op, takt_id x);
takt_id takt_binary(takt_graph *g, const takt_op *op, takt_id a, takt_id b);

/* A scalar constant of the dtype of `like`. */
takt_id takt_scalar_like(takt_graph *g, takt_id like, double value);
takt_id takt_scalar_i64(takt_graph *g, int64_t value);
/* x op constant, for readable formulas. */
takt_id takt_add_scalar(takt_graph *g, takt_id x, double value);
takt_id takt_mul_scalar(takt_graph *g, takt_id x, double value);

takt_id takt_add(takt_graph *g, takt_id a, takt_id b);
takt_id takt_sub(takt_graph *g, takt_id a, takt_id b);
takt_id takt_mul(takt_graph *g, takt_id a, takt_id b);
takt_id takt_div(takt_graph *g, takt_id a, takt_id b);
takt_id takt_neg(takt_graph *g, takt_id x);
takt_id takt_select(takt_graph *g, takt_id condition, takt_id a, takt_id b);
takt_id takt_cast(takt_graph *g, takt_id x, takt_dtype dtype);

/* Reductions: axes may be negative; `keep` leaves dimensions of size 1. */
takt_id takt_reduce_over(takt_graph *g, const takt_op *op, takt_id x, const int64_t *axes,
                         size_t count, bool keep);
/* Sums a gradient back to the shape of `like`, undoing broadcasting. */
takt_id takt_sum_to(takt_graph *g, takt_id x, takt_id like);

takt_id takt_reshape(takt_graph *g, takt_id x, const takt_dim *dims, size_t rank);
takt_id takt_reshape_like(takt_graph *g, takt_id x, takt_id like);
takt_id takt_transpose(takt_graph *g, takt_id x, const int64_t *perm, size_t rank);
takt_id takt_broadcast(takt_graph *g, takt_id x, const takt_dim *dims, size_t rank);
takt_id takt_broadcast_like(takt_graph *g, takt_id x, takt_id like);
/* One axis, [start, stop) by step; stop may be INT64_MAX for "to the end". */
takt_id takt_slice(takt_graph *g, takt_id x, int64_t axis, int64_t start, int64_t stop,
                   int64_t step);
takt_id takt_concat(takt_graph *g, const takt_id *in, size_t count, int64_t axis);
takt_id takt_matmul(takt_graph *g, takt_id a, takt_id b, bool transpose_a, bool transpose_b);

/* Normalises an axis; records TAKT_E_ATTR and returns false when out of range. */
bool takt_axis(takt_infer *in, int64_t axis, int rank, int *out);

#endif
