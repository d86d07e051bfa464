/* time.h - whether a layer is faster in integers, alone. */
#ifndef TAKT_SHRINK_TIME_H
#define TAKT_SHRINK_TIME_H

#include <takt/shrink.h>

#include "api/model.h"
#include "shrink/qdq.h"

typedef struct takt_shrink_timer {
    takt_shrink_compare_fn *compare;
    void *user;
    uint64_t max_ns; /* of one comparison */
    const char *sizes;
    int threads;
    takt_progress_fn *progress; /* called before every layer; or NULL */
    void *progress_user;
} takt_shrink_timer;

/* Layer by layer: unchanged, and in integers. Layers of equal shape are measured once; those that q
 * does not select are skipped. `times` has one entry per layer. */
TAKT_MUST_USE takt_status takt_shrink_time_layers(const takt_shrink_timer *t, const takt_model *m,
                                                  const takt_qdq *q, const bool *wanted,
                                                  takt_comparison *times);
/* Two graphs, each with the model whose slots it has; the graphs are taken over. */
TAKT_MUST_USE takt_status takt_shrink_time(const takt_shrink_timer *t, const takt_model *a,
                                           takt_graph *before, const takt_model *b,
                                           takt_graph *after, takt_comparison *c);
/* One layer by itself, unchanged: from "x" to "y". */
TAKT_MUST_USE takt_status takt_shrink_layer_graph(const takt_graph *base,
                                                  const takt_shrink_layer *l, takt_graph **out);
/* Bias and activation of the layer after a product that replaces its own. */
takt_id takt_shrink_layer_end(takt_graph *g, const takt_graph *base, const takt_shrink_layer *l,
                              takt_id product);

#endif
