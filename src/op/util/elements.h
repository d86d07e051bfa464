/* elements.h - shared by gather_elements, scatter_elements, sort and top_k. */
#ifndef TAKT_OP_UTIL_ELEMENTS_H
#define TAKT_OP_UTIL_ELEMENTS_H

#include "op/util/index.h"

/* Checks index (input 1) against x (input 0): same rank, and no longer on the other axes. */
TAKT_MUST_USE takt_status takt_elements_infer(takt_infer *in, int64_t given, int *axis);
takt_id takt_elements_gather(takt_graph *g, takt_id x, takt_id index, int64_t axis);
takt_id takt_elements_scatter(takt_graph *g, takt_id x, takt_id index, takt_id u, int64_t axis,
                              takt_scatter how);

#endif
