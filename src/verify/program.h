/* program.h - a graph built here, planned and ready to run. */
#ifndef TAKT_VERIFY_PROGRAM_H
#define TAKT_VERIFY_PROGRAM_H

#include <takt/session.h>

#include "ir/graph.h"

/* The graph that a plan of the model with these options computes. */
TAKT_MUST_USE takt_status takt_program_graph(const takt_model *m, const takt_plan_options *options,
                                             takt_graph **g);

typedef struct takt_program {
    takt_plan *plan;
    takt_session *session;
} takt_program;

/* A model of the graph; takes ownership of it, even on failure; the graph has no slots. */
TAKT_MUST_USE takt_status takt_program_model(takt_graph *graph, takt_model **model);

/* Takes ownership of the graph, even on failure. No pass that may change a bit runs. `threads` 0:
 * the default. */
TAKT_MUST_USE takt_status takt_program_init(takt_graph *graph, int threads, takt_program *p);
void takt_program_deinit(takt_program *p);
/* The session's own memory for input or output `index`. */
void *takt_program_input(takt_program *p, size_t index);
const double *takt_program_output(takt_program *p, size_t index);
/* A failure is recorded in the context. */
TAKT_MUST_USE takt_status takt_program_run(takt_program *p);

#endif
