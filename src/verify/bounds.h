/* bounds.h - the graph that computes bounds of every value of a model.
 *
 * The bounds hold for the graph it was built from, node by node, so it is built from the graph that
 * runs: after the passes. Ops give their own bounds (op/util/bound.h) or are bounded through their
 * lowering; otherwise the value is unknown. Values that depend on no unknown input are copied: the
 * same kernels compute the same bits. */
#ifndef TAKT_VERIFY_BOUNDS_H
#define TAKT_VERIFY_BOUNDS_H

#include "op/util/bound.h"

typedef struct takt_bounds {
    takt_graph *graph;   /* of bounds; the caller destroys it */
    takt_arena arena;    /* of the following */
    takt_range **ranges; /* per node of the model, one per result; NULL: not needed */
} takt_bounds;

typedef struct takt_bounds_options {
    bool is_real;          /* for real numbers: no kernel's error is added */
    const bool *is_known;  /* per input of the model: a fixed value instead of bounds; NULL: none */
    const bool *is_wanted; /* per node: its bounds are needed; NULL: those of outputs and checks */
} takt_bounds_options;

/* Every input x of the model becomes "x.lo" and "x.hi" in f64, or is kept if it is known. `model`
 * is concrete and has no slots except those with unknown values. */
TAKT_MUST_USE takt_status takt_bounds_init(const takt_graph *model,
                                           const takt_bounds_options *options, takt_bounds *i);
void takt_bounds_deinit(takt_bounds *i);

/* Bounds of one node, appended to `g`; `out` has room for its results. For tests. */
TAKT_MUST_USE takt_status takt_bounds_node(takt_graph *g, const takt_graph *model,
                                           const takt_node *n, const takt_range *in, bool is_real,
                                           takt_range *out);

#endif
