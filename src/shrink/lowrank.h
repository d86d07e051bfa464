/* lowrank.h - the parts of takt_model_lowrank. */
#ifndef TAKT_SHRINK_LOWRANK_H
#define TAKT_SHRINK_LOWRANK_H

#include <takt/shrink.h>

#include "shrink/layers.h"

/* The decision for one layer. */
typedef struct takt_factors {
    int64_t rank;
    double error;   /* norm of the residual over that of all */
    double *first;  /* [rank, inner] */
    double *second; /* [rows, rank] */
    bool taken, is_kept;
    const char *why;
    takt_comparison time;
} takt_factors;

typedef struct takt_lowrank {
    takt_ctx *ctx;
    const takt_model *model;
    takt_lowrank_options o;
    takt_arena arena;
    takt_graph *base;
    takt_shrink_layers layers;
    takt_factors *of;
    takt_lowrank_summary summary;
    double cost, done, layer; /* of all decompositions, those that are ready, and the next */
} takt_lowrank;

TAKT_MUST_USE takt_status takt_lowrank_report(const takt_lowrank *w, takt_format format,
                                              takt_sink_fn *sink, void *user);

#endif
