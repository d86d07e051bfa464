/* random.h - which numbers an input of integers may hold. */
#ifndef TAKT_API_SESSION_RANDOM_H
#define TAKT_API_SESSION_RANDOM_H

#include "ir/graph.h"

/* The rows of the smallest table that the input indexes, also through reshapes and casts;
 * INT64_MAX if it indexes none, or tables of unknown size. */
TAKT_MUST_USE takt_status takt_index_bound(const takt_graph *g, takt_id input, int64_t *bound);

#endif
