/* global_max_pool.c - the largest element over all spatial axes. */
#include "op/util/global_pool.h"

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_global_reduce(g, n, &takt_op_reduce_max);
}

const takt_op takt_op_global_max_pool = {
    .name = "global_max_pool",
    .summary = "the largest element over all spatial axes, which become 1",
    .onnx = {{"GlobalMaxPool", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_GLOBAL_ATTRS},
    .traits = TAKT_REDUCES,
    .dtypes = TAKT_NUMBERS,
    .infer = takt_global_infer,
    .lower = lower,
    .samples = {"global_max_pool(f32[2, 3, 4, 5])", "global_max_pool(f64[2, 3, 4], layout=nhwc)",
                "global_max_pool(f32[1, 2, 3, 2, 2])"},
};
