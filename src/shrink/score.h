/* score.h - how often a model is right, sample by sample, so that two can be compared in pairs. */
#ifndef TAKT_SHRINK_SCORE_H
#define TAKT_SHRINK_SCORE_H

#include "shrink/feed.h"

typedef struct takt_score {
    uint64_t count, hits;
    unsigned char *right; /* per sample, in the caller's arena */
} takt_score;

/* A sample is right if its label is among the `top` largest elements of the model's first output.
 * Takes ownership of the graph. */
TAKT_MUST_USE takt_status takt_score_graph(takt_feed *f, takt_graph *g, int top, takt_arena *arena,
                                           takt_score *s);

/* Fraction of hits with its 95 % interval (Wilson). */
typedef struct takt_share {
    double value, low, high;
} takt_share;
takt_share takt_score_share(const takt_score *s);
/* The loss from a to b on the same samples, with the confidence interval of paired differences. */
takt_share takt_score_lost(const takt_score *a, const takt_score *b);

#endif
