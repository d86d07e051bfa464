/* reverse.h - the reverse sweep over part of a graph. */
#ifndef TAKT_GRAD_REVERSE_H
#define TAKT_GRAD_REVERSE_H

#include "grad/grad.h"

/* Gradients flow from the outputs to the inputs, which end the sweep; `result` stays TAKT_NONE
 * where none arrives. `level` counts lowerings within lowerings. */
takt_status takt_grad_reverse(takt_graph *g, const takt_grad_request *request, int level);

/* The same as `sum`; if it adds parts that do not overlap and cover all of it, their
 * concatenation. */
takt_id takt_grad_join(takt_graph *g, takt_id sum);

/* Copies the nodes of `from` whose entry in `map` is TAKT_NONE. */
takt_status takt_grad_copy(const takt_graph *from, takt_graph *to, takt_id *map);

/* Names of subgraph inputs for incoming gradients: `stem.N`, unused so far. */
takt_id takt_grad_input(takt_graph *g, const char *stem, const takt_type *type);
/* Declares output number `g->output_count`. */
void takt_grad_output(takt_graph *g, takt_id id);

/* Control flow: the gradient of a node of subgraphs is a node of their gradients. */
takt_status takt_grad_if(takt_graph *g, const takt_node *n, const takt_id *dy, takt_id *dx);
takt_status takt_grad_loop(takt_graph *g, const takt_node *n, const takt_id *dy, takt_id *dx);
takt_status takt_grad_scan(takt_graph *g, const takt_node *n, const takt_id *dy, takt_id *dx);

#endif
