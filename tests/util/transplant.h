/* transplant.h - copies a node of one graph, with its subgraphs, into another. */
#ifndef TAKT_TESTS_UTIL_TRANSPLANT_H
#define TAKT_TESTS_UTIL_TRANSPLANT_H

#include "ir/graph.h"

/* `n` with inputs of `to`. Types must hold numbers only: the tables of dimensions may differ. */
takt_id takt_transplant(takt_graph *to, const takt_node *n, const takt_id *in);

#endif
