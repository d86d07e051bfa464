/* global_avg_pool.c - the mean over all spatial axes. */
#include "op/util/global_pool.h"

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_global_reduce(g, n, &takt_op_reduce_mean);
}

const takt_op takt_op_global_avg_pool = {
    .name = "global_avg_pool",
    .summary = "the mean over all spatial axes, which become 1",
    .onnx = {{"GlobalAveragePool", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {TAKT_GLOBAL_ATTRS},
    .traits = TAKT_REDUCES,
    .dtypes = TAKT_FLOATS,
    .infer = takt_global_infer,
    .lower = lower,
    .samples = {"global_avg_pool(f32[2, 3, 4, 5])", "global_avg_pool(f64[2, 3, 4], layout=nhwc)",
                "global_avg_pool(f32[1, 2, 3, 2, 2])"},
};
