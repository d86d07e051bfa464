/* branch.h - subgraphs of a node with numbers for named dimensions. */
#ifndef TAKT_PASS_BRANCH_H
#define TAKT_PASS_BRANCH_H

#include "pass/pass.h"

/* One new graph for each attribute that is a graph, NULL for the others; the caller destroys them,
 * even after a failure. One branch of an `if` may be impossible at these sizes: it becomes a graph
 * that fails with the reason when it runs. */
TAKT_MUST_USE takt_status takt_specialize_children(const takt_graph *g, const takt_node *n,
                                                   const int64_t *sizes, size_t count,
                                                   takt_graph *children[static TAKT_MAX_ATTRS]);

/* A body that finds sizes itself: their names have no number in `sizes`; `tops` has the sizes to
 * plan for, if the caller gave them. */
TAKT_MUST_USE takt_status takt_graph_specialize_body(const takt_graph *in, const int64_t *sizes,
                                                     const int64_t *tops, size_t count,
                                                     takt_graph **out);

#endif
