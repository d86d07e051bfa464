/* edge_index.h - finds inputs, outputs and slots of a graph by name, however many there are. */
#ifndef TAKT_IR_EDGE_INDEX_H
#define TAKT_IR_EDGE_INDEX_H

#include "ir/graph.h"

typedef enum takt_edge_kind { TAKT_EDGE_INPUT, TAKT_EDGE_OUTPUT, TAKT_EDGE_SLOT } takt_edge_kind;

/* Position in the array of its kind, or SIZE_MAX. */
size_t takt_edge_find(const takt_graph *g, takt_edge_kind kind, const char *name);
/* Room for one more: call it before the array grows, so that adding cannot fail. */
TAKT_MUST_USE takt_status takt_edge_reserve(takt_graph *g);
/* Records the element at `position`, whose name is set. */
void takt_edge_add(takt_graph *g, takt_edge_kind kind, size_t position);

#endif
