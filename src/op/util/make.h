/* make.h - small builders for gradients and lowerings of structural ops. */
#ifndef TAKT_OP_UTIL_MAKE_H
#define TAKT_OP_UTIL_MAKE_H

#include "op/ops.h"

/* `a op b`; a failure is sticky in the graph and gives 0. */
takt_dim takt_make_dim(takt_graph *g, takt_dim_op op, takt_dim a, takt_dim b);
takt_dim takt_make_product(takt_graph *g, const takt_dim *dims, int count);
/* A constant `value` with the type of `like`. */
takt_id takt_make_filled(takt_graph *g, takt_id like, double value);
/* i64 0, 1, 2, … along `axis`. */
takt_id takt_make_iota(takt_graph *g, const takt_dim *dims, int rank, int axis);
/* A call with one attribute. */
takt_id takt_make_axis(takt_graph *g, const takt_op *op, size_t count, const takt_id *in,
                       int64_t axis);
/* Product of the dimensions of a concrete type (0 where one is a name). */
double takt_make_count(const takt_type *type);
/* Bytes read and written by a node. */
double takt_make_bytes(const takt_graph *g, const takt_node *n);

#endif
