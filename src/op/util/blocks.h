/* blocks.h - shared by depth_to_space and space_to_depth: [N, C, H, W] in blocks. */
#ifndef TAKT_OP_UTIL_BLOCKS_H
#define TAKT_OP_UTIL_BLOCKS_H

#include "op/ops.h"

/* `dim` divided by `by`, or a failure that names axis and op. */
TAKT_MUST_USE takt_status takt_blocks_divide(takt_infer *in, int axis, int64_t by, takt_dim *out);
/* Reshape to six axes, permute them, reshape to the type of `n`. */
takt_id takt_blocks_move(takt_graph *g, const takt_node *n, const takt_dim split[static 6],
                         const int64_t perm[static 6]);

#endif
