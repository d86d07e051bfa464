/* log_softmax.c - the logarithm of softmax, without the overflow and cancellation of both. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/formula.h"
#include "op/util/norm.h"
#include "op/util/stops.h"
#include "op/util/walk.h"

enum { AXIS };

static takt_status eval(takt_eval *e)
{
    const takt_array *x = &e->in[0];
    const takt_rows rows = takt_rows_of(x, e->attr[AXIS].i64);
    for (size_t r = 0; r < rows.outer * rows.inner && !takt_eval_stops(e, rows.size); r++) {
        const size_t start = r / rows.inner * rows.size * rows.inner + r % rows.inner;
        const double *in = x->f + start;
        double *out = e->out[0].f + start;
        double most = -INFINITY, sum = 0;
        for (size_t k = 0; k < rows.size; k++)
            most = in[k * rows.inner] > most ? in[k * rows.inner] : most;
        for (size_t k = 0; k < rows.size; k++)
            sum += exp(in[k * rows.inner] - most);
        for (size_t k = 0; k < rows.size; k++)
            out[k * rows.inner] = in[k * rows.inner] - most - log(sum);
    }
    return TAKT_OK;
}

/* dy - softmax(x) * sum(dy). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    int64_t axis;
    const takt_reduction r = takt_axis_reduction(takt_node_at(g, id), &axis);
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, dy[0], &r);
    const takt_id softmax = takt_unary(g, &takt_op_exp, id);
    dx[0] = takt_sub(g, dy[0], takt_mul(g, softmax, sum));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    int64_t axis;
    const takt_reduction r = takt_axis_reduction(n, &axis);
    const takt_id shifted = takt_shifted(g, &r);
    const takt_id powers = takt_unary(g, &takt_op_exp, shifted);
    const takt_id sum = takt_reduce_by(g, &takt_op_reduce_sum, powers, &r);
    out[0] = takt_sub(g, shifted, takt_unary(g, &takt_op_log, sum));
}

static void cost(const takt_graph *g, const takt_node *n, takt_cost *c)
{
    takt_cost_of_input(g, n, 14, c);
}

const takt_op takt_op_log_softmax = {
    .name = "log_softmax",
    .summary = "the logarithm of softmax along an axis",
    .onnx = {{"LogSoftmax", 13, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[AXIS] = {.name = "axis",
                        .type = TAKT_ATTR_I64,
                        .fallback.i64 = -1,
                        .summary = "the axis of the softmax"}},
    .traits = TAKT_AMP_WIDE | TAKT_WIDENS,
    .dtypes = TAKT_FLOATS,
    .infer = takt_axis_infer,
    .eval = eval,
    .grad = grad,
    .lower = lower,
    .cost = cost,
    .samples = {"log_softmax(f32[2, 3])", "log_softmax(f64[3, 4, 5], axis=1)",
                "log_softmax(f16[4, 9], axis=0)", "log_softmax(f32[7] in (-100, 100))"},
};
