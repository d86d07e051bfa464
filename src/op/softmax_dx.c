/* softmax_dx.c - gradient of softmax from its result: y * (dy - sum(dy * y)). */
#include "ir/infer.h"
#include "op/util/formula.h"
#include "op/util/norm.h"

enum { AXIS };

static takt_status infer(takt_infer *in)
{
    TAKT_TRY(takt_infer_same_shape(in, 0, 1));
    return takt_axis_infer(in);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    int64_t axis;
    const takt_reduction r = takt_axis_reduction(n, &axis);
    const takt_id y = n->in[0], dy = n->in[1];
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, takt_mul(g, dy, y), &r);
    out[0] = takt_mul(g, y, takt_sub(g, dy, sum));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 4, c);
}

const takt_op takt_op_softmax_dx = {
    .name = "softmax_dx",
    .summary = "gradient of softmax by its result: y * (dy - sum(dy * y))",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"y", "dy"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "the axis of the softmax"}},
    .dtypes = TAKT_FLOATS,
    .infer = infer,
    .lower = lower,
    .cost = cost,
    .samples = {"softmax_dx(f32[2, 3], f32[2, 3])",
                "softmax_dx(f64[3, 4, 5], f64[3, 4, 5], axis=1)",
                "softmax_dx(f16[4, 9], f16[4, 9])", "softmax_dx(f32[5, 70], f32[5, 70])"},
};
