/* build.h - what a builder holds. */
#ifndef TAKT_API_BUILD_H
#define TAKT_API_BUILD_H

#include <takt/graph.h>

#include "ir/graph.h"

struct takt_build {
    takt_ctx *ctx;
    takt_graph *graph; /* NULL after a model has taken ownership */
    takt_error error;  /* the first failure */
};

/* "f32[batch, 784]" as a type of the graph. */
TAKT_MUST_USE takt_status takt_build_type(takt_graph *g, const char *text, takt_type *type);
/* A JSON object as attributes of `op`; lists are in `arena`. `attrs` must be zeroed. */
TAKT_MUST_USE takt_status takt_build_attrs(takt_graph *g, const takt_op *op, const char *json,
                                           takt_arena *arena,
                                           takt_attr attrs[static TAKT_MAX_ATTRS]);

#endif
