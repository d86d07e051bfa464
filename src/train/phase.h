/* phase.h - which part of a training step a node belongs to, after all passes. */
#ifndef TAKT_TRAIN_PHASE_H
#define TAKT_TRAIN_PHASE_H

#include "base/inner.h"
#include "ir/graph.h"

typedef enum takt_phase {
    TAKT_PHASE_FORWARD,   /* the loss depends on it */
    TAKT_PHASE_GRADIENT,  /* all others: gradients and clipping */
    TAKT_PHASE_OPTIMIZER, /* it depends on the learning rate or on an optimiser's state */
    TAKT_PHASES
} takt_phase;

TAKT_INNER extern const char *const takt_phase_names[TAKT_PHASES];

/* Whether the graph is that of a training step. */
TAKT_INNER bool takt_is_training_step(const takt_graph *g);
/* The phase of every node; `phase` has room for all of them. */
TAKT_INNER void takt_phases(const takt_graph *g, unsigned char *phase);
/* The phase of several nodes that are computed together: the latest. */
TAKT_INNER takt_phase takt_phase_of(const unsigned char *phase, const takt_id *nodes, size_t count);

#endif
