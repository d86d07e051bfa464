/* length.h - attributes of the op `length`. */
#ifndef TAKT_OP_UTIL_LENGTH_H
#define TAKT_OP_UTIL_LENGTH_H

#include "ir/graph.h"

enum { TAKT_LENGTH_NAMES, TAKT_LENGTH_BOUNDS, TAKT_LENGTH_TOPS };

/* The bound of a length that the model leaves unbounded: the caller must set one. */
#define TAKT_LENGTH_OPEN INT64_MAX

extern const takt_op takt_op_length;

/* Whether element `k` of a `length` gives name `*name` its number. A size that it only compares is
 * also its top. */
static inline bool takt_length_names(const takt_graph *g, const takt_node *n, uint32_t k,
                                     size_t *name)
{
    const takt_dim is = n->attr[TAKT_LENGTH_NAMES].dims[k], top = n->attr[TAKT_LENGTH_TOPS].dims[k];
    return takt_dim_is_name(g->dims, is, name) && !takt_dim_same(g->dims, is, top);
}

#endif
