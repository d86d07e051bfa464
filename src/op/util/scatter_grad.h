/* scatter_grad.h - gradients shared by scatter_elements and scatter_nd. */
#ifndef TAKT_OP_UTIL_SCATTER_GRAD_H
#define TAKT_OP_UTIL_SCATTER_GRAD_H

#include "op/util/index.h"

/* How targets are addressed: inputs are x, index and u. */
typedef struct takt_scatter_way {
    takt_id (*gather)(takt_graph *g, takt_id x, takt_id index, int64_t along);
    takt_id (*scatter)(takt_graph *g, takt_id x, takt_id index, takt_id u, int64_t along,
                       takt_scatter how);
    /* Which elements of u survive if several have the same target, as flags that broadcast to u. */
    takt_id (*kept)(takt_graph *g, const takt_node *n, int64_t along);
} takt_scatter_way;

/* The gradient of node `id`; attribute 0 is `along`, attribute 1 how. */
void takt_scatter_grad(takt_graph *g, takt_id id, takt_id dy, takt_id *dx,
                       const takt_scatter_way *way);

#endif
