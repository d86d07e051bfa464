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

/* Means, roots and logarithms of whole numbers are worked out in f64 and cut. */
static bool needs_floats(const takt_op *op, takt_dtype dtype)
{
    return takt_dtype_is_int(dtype) &&
           (op == &takt_op_reduce_mean || op == &takt_op_reduce_l2 ||
            op == &takt_op_reduce_log_sum || op == &takt_op_reduce_log_sum_exp);
}

static takt_status adapt(takt_call *c)
{
    const takt_ints axes = takt_onnx_list(c, "axes", 1);
    const bool keep = takt_onnx_i(c, "keepdims", 1) != 0;
    const bool does_nothing = takt_onnx_i(c, "noop_with_empty_axes", 0) != 0;
    takt_id x = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    size_t i = 0; /* it is one of them: those are the adapter's names */
    while (!takt_span_is(c->node->op, list[i].name))
        i++;
    const takt_type t = *takt_onnx_type(c, 0);
    const bool is_cut = needs_floats(list[i].op, t.dtype);
    x = is_cut ? takt_onnx_cast(c, x, TAKT_F64) : x;
    if (axes.count > 0 || !does_nothing) {
        x = takt_reduce_over(c->g, list[i].op, x, axes.at, axes.count, keep);
    } else { /* nothing is summed, but each element is still squared, or its logarithm taken */
        const int64_t last = t.rank;
        x = takt_reduce_over(c->g, list[i].op, takt_onnx_unsqueeze(c, x, last), &last, 1, false);
    }
    return takt_onnx_done(c, is_cut ? takt_onnx_cast(c, x, t.dtype) : x);
}

const takt_onnx_op takt_onnx_Reduce = {
    .names = {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
              "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"},
    .adapt = adapt};
