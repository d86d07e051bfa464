/* branch.h - subgraphs of a node with numbers for named dimensions. */
#ifndef TAKT_PASS_BRANCH_H
#define TAKT_PASS_BRANCH_H

#include "pass/pass.h"

/* One new graph for each attribute that is a graph, NULL for the others; the caller destroys them,
 * after a failure too. Of an `if`, one branch may be impossible at these sizes: it becomes a graph
 * that fails when it runs, with what is wrong. */
TAKT_MUST_USE takt_status takt_specialize_children(const takt_graph *g, const takt_node *n,
                                                   const int64_t *sizes, size_t count,
                                                   takt_graph *children[static TAKT_MAX_ATTRS]);

/* A body that finds sizes by itself: their names have no number in `sizes`; `tops` has what they
 * are planned for, where the caller said it. */
TAKT_MUST_USE takt_status takt_graph_specialize_body(const takt_graph *in, const int64_t *sizes,
                                                     const int64_t *tops, size_t count,
                                                     takt_graph **out);

#endif
