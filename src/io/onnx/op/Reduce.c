/* Reduce.c - the Reduce… family: axes are an attribute or, in newer opsets, an input. */
#include "io/onnx/adapt.h"

static const struct {
    const char *name;
    const takt_op *op;
} list[] = {
    {"ReduceSum", &takt_op_reduce_sum},
    {"ReduceMean", &takt_op_reduce_mean},
    {"ReduceMax", &takt_op_reduce_max},
    {"ReduceMin", &takt_op_reduce_min},
    {"ReduceProd", &takt_op_reduce_prod},
    {"ReduceL1", &takt_op_reduce_l1},
    {"ReduceL2", &takt_op_reduce_l2},
    {"ReduceLogSum", &takt_op_reduce_log_sum},
    {"ReduceLogSumExp", &takt_op_reduce_log_sum_exp},
    {"ReduceSumSquare", &takt_op_reduce_sum_square},
};

static takt_status adapt(takt_call *c)
{
    const takt_ints axes = takt_onnx_list(c, "axes", 1);
    const bool keep = takt_onnx_i(c, "keepdims", 1) != 0;
    const bool does_nothing = takt_onnx_i(c, "noop_with_empty_axes", 0) != 0;
    const takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    size_t i = 0; /* it is one of them: those are the adapter's names */
    while (!takt_span_is(c->node->op, list[i].name))
        i++;
    if (axes.count > 0 || !does_nothing)
        return takt_onnx_done(c, takt_reduce_over(c->g, list[i].op, x, axes.at, axes.count, keep));
    /* Nothing is summed, but each element is still squared, or its logarithm taken. */
    const int64_t last = takt_type_of(c->g, x)->rank;
    const takt_id row = takt_onnx_unsqueeze(c, x, last);
    return takt_onnx_done(c, takt_reduce_over(c->g, list[i].op, row, &last, 1, false));
}

const takt_onnx_op takt_onnx_Reduce = {
    .names = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
              "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"},
    .adapt = adapt};
