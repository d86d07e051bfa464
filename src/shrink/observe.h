/* observe.h - the values of a model on data, and the effect of rounding each layer on them. */
#ifndef TAKT_SHRINK_OBSERVE_H
#define TAKT_SHRINK_OBSERVE_H

#include "shrink/feed.h"
#include "shrink/qdq.h"

/* The ranges of the wanted values, observed in one run over the data: seen[i] belongs to node i,
 * NULL if it is not wanted; they are in `arena`. NaN, infinite or constant data is
 * TAKT_E_SHRINK_DATA. */
TAKT_MUST_USE takt_status takt_observe(takt_feed *f, const takt_graph *base, const bool *wanted,
                                       takt_arena *arena, takt_range_seen **seen);

/* The error from rounding one layer, with exact input. */
typedef struct takt_layer_noise {
    double signal, noise; /* sums of squares of its result before the activation */
    double *shift;        /* per channel: mean of exact less rounded */
} takt_layer_noise;

/* Over the first samples of the data; every layer that q takes gets its noise, in `arena`. */
TAKT_MUST_USE takt_status takt_observe_noise(takt_feed *f, const takt_qdq *q, uint64_t samples,
                                             takt_arena *arena, takt_layer_noise *noise);

/* 10 log10 of the ratio; infinite if there is no noise. */
double takt_decibels(double signal, double noise);

#endif
