/* branches.h - branches of an If whose results differ in size. */
#ifndef TAKT_IO_ONNX_BRANCHES_H
#define TAKT_IO_ONNX_BRANCHES_H

#include "io/onnx/adapt.h"

/* The same shape, as far as is known. */
bool takt_branches_same(takt_call *c, const takt_type *a, const takt_type *b);
/* Fails with both names if element types or ranks differ. */
TAKT_MUST_USE takt_status takt_branches_alike(takt_call *c, const takt_type *a, const takt_type *b);
/* Number of elements of the larger one. */
takt_dim takt_branches_wide(takt_call *c, const takt_type *a, const takt_type *b);
/* Elements of `x` as a flat row of `wide`. */
takt_id takt_branches_row(takt_call *c, takt_graph *g, takt_id x, takt_dim wide);

/* Whether results of the same types and ranks differ in size in a way that a run can resolve. */
bool takt_branches_differ(takt_call *c, const takt_graph *a, const takt_graph *b);
/* Replaces both branches: results that differ become flat rows of equal length, and one more result
 * holds the sizes. */
TAKT_MUST_USE takt_status takt_branches_widen(takt_call *c, takt_graph **a, takt_graph **b);
/* `a` where the condition holds, else `b`, whose size may differ. */
takt_id takt_branches_choose(takt_call *c, takt_id condition, takt_id a, takt_id b);
/* The result that `row` holds, `x` in one branch and `y` in the other; its sizes begin at `*at`. */
takt_id takt_branches_narrow(takt_call *c, takt_id row, takt_id sizes, size_t *at,
                             const takt_type *x, const takt_type *y);

#endif
