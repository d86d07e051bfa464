/* interp.h - runs a graph by reference semantics, which every backend must agree with.
 *
 * Floats are doubles, integers 64-bit two's complement; every result of a node is rounded, or
 * wrapped, to its element type. Sums and contractions are doubles until then, so f16 and bf16 are
 * rounded once. Ops without their own evaluation are evaluated through their lowering. Values are
 * freed after their last use.
 *
 * The graph must be concrete: every dimension a number, or a name that unification found to be
 * one. */
#ifndef TAKT_INTERP_INTERP_H
#define TAKT_INTERP_INTERP_H

#include "ir/array.h"
#include "ir/graph.h"
#include "kernel/poll.h"

/*
 * inputs   one per input of the graph, in its order and of its types
 * slots    the value of every slot, in order; NULL if there are none
 * outputs  receives one per output, the caller's to release
 * next     receives one per slot: what it becomes, or the old value if it stays; may be NULL
 *
 * On failure nothing is returned, and the error names the node.
 */
TAKT_MUST_USE takt_status takt_interpret(takt_ctx *ctx, const takt_graph *g,
                                         const takt_tensor *inputs, const takt_tensor *slots,
                                         takt_tensor *outputs, takt_tensor *next);

/* On arrays, for a graph without slots or with all of them: nothing is packed. */
TAKT_MUST_USE takt_status takt_interpret_arrays(takt_ctx *ctx, const takt_graph *g,
                                                const takt_array *inputs, const takt_array *slots,
                                                takt_array *outputs, takt_array *next);

/* One node on given inputs (an absent one has rank -1); `out` receives n->out_count arrays. */
TAKT_MUST_USE takt_status takt_interpret_node(takt_ctx *ctx, const takt_graph *g,
                                              const takt_node *n, const takt_array *in,
                                              takt_array *out);

/* With a cancel check from time to time (kernel/poll.h); if it was cancelled, `out` is unusable,
 * whatever the status. */
TAKT_MUST_USE takt_status takt_interpret_node_polled(takt_ctx *ctx, const takt_graph *g,
                                                     const takt_node *n, const takt_poll *poll,
                                                     const takt_array *in, takt_array *out);

/* How a node's result is computed when there is a choice, for tests. */
typedef enum takt_interp_way {
    TAKT_INTERP_ANY,   /* its own evaluation if it has one */
    TAKT_INTERP_LOWER, /* the lowering, if the op has one; its nodes by TAKT_INTERP_ANY */
} takt_interp_way;
TAKT_MUST_USE takt_status takt_interpret_node_by(takt_ctx *ctx, const takt_graph *g,
                                                 const takt_node *n, takt_interp_way way,
                                                 const takt_array *in, takt_array *out);

#endif
