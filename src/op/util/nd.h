/* nd.h - shared by gather_nd and scatter_nd: indices that are rows of coordinates.
 *
 * The last axis of index holds k coordinates into axes batch … batch + k - 1 of x; the leading
 * `batch` axes of x and index are paired. A row selects the block of the remaining axes.
 */
#ifndef TAKT_OP_UTIL_ND_H
#define TAKT_OP_UTIL_ND_H

#include "op/util/index.h"

/* Checks x (input 0) and index (input 1); returns the type of the selection. */
TAKT_MUST_USE takt_status takt_nd_infer(takt_infer *in, int64_t batch, takt_type *selected);
/* Offset in x of the block that row `row` of index selects, and the size of blocks. */
TAKT_MUST_USE takt_status takt_nd_block(const takt_eval *e, int64_t batch, size_t row,
                                        size_t *offset, size_t *size);
takt_id takt_nd_gather(takt_graph *g, takt_id x, takt_id index, int64_t batch);
takt_id takt_nd_scatter(takt_graph *g, takt_id x, takt_id index, takt_id u, int64_t batch,
                        takt_scatter how);

#endif
