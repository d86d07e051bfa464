/* base.h - the graph being shrunk, and sessions of graphs made from it. */
#ifndef TAKT_SHRINK_BASE_H
#define TAKT_SHRINK_BASE_H

#include <takt/session.h>

#include "api/model.h"

/* The model's graph with its parameters as constants, scales and batch normalisation folded into
 * the weights, and all constant expressions computed: the factor of a layer is then one constant.
 * Named dimensions are kept. */
TAKT_MUST_USE takt_status takt_shrink_base(const takt_model *m, takt_graph **base);
/* The same for training: parameters of norms, embeddings and recurrent cells stay slots. */
TAKT_MUST_USE takt_status takt_shrink_trained_base(const takt_model *m, takt_graph **base);

/* A graph that runs. */
typedef struct takt_shrink_run {
    takt_model *model;
    takt_plan *plan;
    takt_session *session;
} takt_shrink_run;

/* Takes ownership of the graph, even on failure. `sizes` may be NULL; `threads` 0: the default. */
TAKT_MUST_USE takt_status takt_shrink_run_init(takt_shrink_run *r, const takt_model *from,
                                               takt_graph *graph, const char *sizes, int threads);
void takt_shrink_run_deinit(takt_shrink_run *r);
/* A run's failure is recorded in the context. */
TAKT_MUST_USE takt_status takt_shrink_run_once(takt_shrink_run *r);

/* A dense tensor of `type`, filled from doubles, rounded to its element type. */
TAKT_MUST_USE takt_status takt_shrink_tensor(takt_ctx *ctx, const takt_type *type,
                                             const double *values, takt_tensor *t);
/* As a constant of `g`; TAKT_NONE if it failed, which is sticky in the graph. */
takt_id takt_shrink_constant(takt_graph *g, const takt_type *type, const double *values);

/* Bytes of all live constants and of all live slots without a next value. */
uint64_t takt_shrink_bytes(const takt_graph *g);
/* Their elements. */
uint64_t takt_shrink_parameters(const takt_graph *g);

#endif
