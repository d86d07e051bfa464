/* constant.h - numbers as constants of a graph, for readers of formats. */
#ifndef TAKT_IO_CONSTANT_H
#define TAKT_IO_CONSTANT_H

#include "ir/graph.h"

/* A constant of `type` from `f`, rounded, or from `i` if that is not NULL, wrapped. On failure
 * TAKT_NONE, and the graph keeps the status. */
takt_id takt_io_constant(takt_ctx *ctx, takt_graph *g, const takt_type *type, const double *f,
                         const int64_t *i);

#endif
