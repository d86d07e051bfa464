/* merge.h - hash-consing of equal nodes, and sizes that become known later. */
#ifndef TAKT_IR_MERGE_H
#define TAKT_IR_MERGE_H

#include "ir/graph.h"

uint64_t takt_merge_hash(const takt_op *op, size_t in_count, const takt_id *in,
                         const takt_attr *attrs);
/* Room in the table for one node more. */
TAKT_MUST_USE takt_status takt_merge_grow(takt_graph *g);
/* The slot of the table that holds an equal node, or a free one. */
size_t takt_merge_find(const takt_graph *g, uint64_t hash, const takt_op *op, size_t in_count,
                       const takt_id *in, const takt_attr *attrs);

/* Axes that were left out and depend on sizes are set when the node is made, so that a size that is
 * known later changes nothing. */
TAKT_MUST_USE takt_status takt_merge_complete(takt_infer *in, takt_attr *attrs);

/* Substitutes what unification found into every type and attribute, including subgraphs, and merges
 * nodes that have become equal, so that the graph equals one read from its text. `map`: the new id
 * of each node, or NULL. Only for a graph that is not shared yet. */
TAKT_MUST_USE takt_status takt_graph_settle(takt_graph *g, takt_id *map);

#endif
