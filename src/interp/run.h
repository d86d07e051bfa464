/* run.h - shared by the files of the interpreter. */
#ifndef TAKT_INTERP_RUN_H
#define TAKT_INTERP_RUN_H

#include "interp/interp.h"
#include "op/util/stops.h"

/* Lowered forms of nodes, cached because a loop's body is evaluated many times. */
enum { LOWERED_COUNT = 64 };

typedef struct interp_lowered {
    const takt_node *node;
    takt_graph *owner; /* retained, so that `node` cannot be reused */
    takt_graph *graph;
} interp_lowered;

typedef struct interp {
    takt_eval_run run; /* first: evaluations see this part */
    takt_ctx *ctx;
    interp_lowered lowered[LOWERED_COUNT];
    size_t next_lowered; /* the one to replace */
    int64_t *sizes;      /* sizes found at run time, by index of names; -1: none so far */
    size_t size_count;
    int depth; /* of the subgraph that runs; 0: the graph itself */
} interp;

/* sizes.c: binds the sizes that op `length` has found to their names, for all later nodes. */
TAKT_MUST_USE takt_status takt_interp_found(interp *it, const takt_graph *g, const takt_node *n,
                                            const takt_array *found);
/* `type` with the sizes known now. */
TAKT_MUST_USE takt_status takt_interp_type(const interp *it, const takt_graph *g,
                                           const takt_type *from, takt_type *type);
/* Attributes with the sizes known now: the node's own, or in `scratch`. */
TAKT_MUST_USE takt_status takt_interp_attrs(const interp *it, const takt_graph *g,
                                            const takt_node *n, takt_arena *scratch,
                                            const takt_attr **attrs);

/* `n` of `g` as a graph of simpler nodes, whose inputs are those of `n` that are present. The
 * caller drops its reference. */
takt_status takt_interp_lower(interp *it, const takt_graph *g, const takt_node *n,
                              takt_graph **lowered);
void takt_interp_forget(interp *it);

/* Whether there is a scalar function for these inputs. */
bool takt_interp_has_scalar(const takt_op *op, takt_dtype in, takt_dtype out);
/* The scalar function over all elements, inputs broadcast. */
takt_status takt_interp_elementwise(takt_eval *e);

/* All of `g`; `next` may be NULL. The outputs are the caller's. */
takt_status takt_interp_run(interp *it, const takt_graph *g, const takt_array *inputs,
                            const takt_array *slots, takt_array *outputs, takt_array *next);
takt_status takt_interp_node(interp *it, const takt_graph *g, const takt_node *n,
                             takt_interp_way way, const takt_array *in, takt_array *out);

#endif
