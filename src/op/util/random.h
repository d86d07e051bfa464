/* random.h - shared by the ops that draw random numbers, which all lower to `rand`. */
#ifndef TAKT_OP_UTIL_RANDOM_H
#define TAKT_OP_UTIL_RANDOM_H

#include "op/ops.h"

enum { TAKT_RANDOM_UNIFORM, TAKT_RANDOM_NORMAL };

#define TAKT_RANDOM_STREAM_ATTR                                                                    \
    {                                                                                              \
        .name = "stream", .type = TAKT_ATTR_I64, .is_required = true,                              \
        .summary = "unique in the graph, so that no two draw the same numbers"                     \
    }

#define TAKT_RANDOM_DTYPE_ATTR                                                                     \
    {                                                                                              \
        .name = "dtype", .type = TAKT_ATTR_DTYPE, .fallback.dtype = TAKT_F32,                      \
        .summary = "element type of the result"                                                    \
    }
#define TAKT_RANDOM_SHAPE_ATTR                                                                     \
    {                                                                                              \
        .name = "shape", .type = TAKT_ATTR_SHAPE, .is_required = true,                             \
        .summary = "dimensions of the result"                                                      \
    }

/* Inputs `first`, + 1 and + 2 are seed, step and base: u64 scalars. */
TAKT_MUST_USE takt_status takt_random_infer(takt_infer *in, size_t first, int stream);
/* Same for inputs from 0, and the result has the float type and the shape of these attributes. */
TAKT_MUST_USE takt_status takt_random_infer_shaped(takt_infer *in, int stream, int dtype,
                                                   int shape);
/* Numbers of `type`, drawn with the inputs of `n` from `first` on. */
takt_id takt_random_draw(takt_graph *g, const takt_node *n, size_t first, int stream, int dist,
                         const takt_type *type);

#endif
