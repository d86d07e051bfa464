/* control.h - shared by ops with subgraphs. */
#ifndef TAKT_OP_UTIL_CONTROL_H
#define TAKT_OP_UTIL_CONTROL_H

#include "op/ops.h"

/* The subgraph in attribute `attr` has `count` inputs, keeps no state and shares our dimensions. */
TAKT_MUST_USE takt_status takt_control_check(takt_infer *in, int attr, size_t count);
/* Type of input or result `i` of a subgraph. */
const takt_type *takt_control_input(const takt_graph *g, size_t i);
const takt_type *takt_control_output(const takt_graph *g, size_t i);
/* `got` can be `want`, names unified; `what` (with number `i`) goes into the message. */
TAKT_MUST_USE takt_status takt_control_same(takt_infer *in, const takt_type *got,
                                            const takt_type *want, const char *what, size_t i);
/* Inputs of the node from `first` on match those of the subgraph from `at` on, `count` of them. */
TAKT_MUST_USE takt_status takt_control_feeds(takt_infer *in, const takt_graph *g, size_t first,
                                             size_t at, size_t count);
/* Element `index` of `axis`, as an array without it; the caller releases it. */
TAKT_MUST_USE takt_status takt_control_take(takt_ctx *ctx, const takt_array *from, int axis,
                                            int64_t index, takt_array *out);
/* Writes `from` there. */
void takt_control_put(takt_array *to, int axis, int64_t index, const takt_array *from);
void takt_control_release(takt_ctx *ctx, takt_array *arrays, size_t count);

#endif
