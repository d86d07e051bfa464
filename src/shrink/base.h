/* base.h - the graph that is shrunk, and sessions of graphs made from it. */
#ifndef TAKT_SHRINK_BASE_H
#define TAKT_SHRINK_BASE_H

#include <takt/session.h>

#include "api/model.h"

/* The model's graph with its parameters as constants, scales and batch normalisation folded into
 * the weights, everything of constants computed: what a layer multiplies by is then one constant.
 * Named dimensions stay names. */
TAKT_MUST_USE takt_status takt_shrink_base(const takt_model *m, takt_graph **base);

/* A graph that runs. */
typedef struct takt_shrink_run {
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
} takt_shrink_run;

/* Takes the graph over, whatever happens. `sizes` may be NULL; `threads` 0: the default. */
TAKT_MUST_USE takt_status takt_shrink_run_init(takt_shrink_run *r, const takt_model *from,
                                               takt_graph *graph, const char *sizes, int threads);
void takt_shrink_run_deinit(takt_shrink_run *r);
/* A run's failure is recorded in the context. */
TAKT_MUST_USE takt_status takt_shrink_run_once(takt_shrink_run *r);

/* A dense tensor of `type` that is filled from doubles, rounded to its element type. */
TAKT_MUST_USE takt_status takt_shrink_tensor(takt_ctx *ctx, const takt_type *type,
                                             const double *values, takt_tensor *t);
/* The same as a constant of `g`; TAKT_NONE if it failed, which sticks to the graph. */
takt_id takt_shrink_constant(takt_graph *g, const takt_type *type, const double *values);

/* Bytes of all constants and of all slots without a next value that are alive. */
uint64_t takt_shrink_bytes(const takt_graph *g);
/* Their elements. */
uint64_t takt_shrink_parameters(const takt_graph *g);

#endif
