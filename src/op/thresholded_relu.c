/* thresholded_relu.c - x where x > alpha, else 0. */
#include "op/util/formula.h"

enum { ALPHA };

static double eval_f(takt_scalar *s, const double *x)
{
    return x[0] > s->attr[ALPHA].f64 ? x[0] : 0;
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const double alpha = takt_node_at(g, id)->attr[ALPHA].f64;
    dx[0] = takt_keep_where(g, takt_is_above(g, x, alpha), dy[0]);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    out[0] = takt_keep_where(g, takt_is_above(g, x, n->attr[ALPHA].f64), x);
}

const takt_op takt_op_thresholded_relu = {
    .name = "thresholded_relu",
    .summary = "x where x > alpha, else 0",
    .onnx = {{"ThresholdedRelu", 10, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[ALPHA] = {.name = "alpha",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 1,
                         .summary = "the threshold"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .samples = {"thresholded_relu(f32[2, 3] in (-3, 3))", "thresholded_relu(f64[7] in (-3, 3))",
                "thresholded_relu(f16[1, 5, 2] in (-3, 3))", "thresholded_relu(f32[] in (-3, 3))",
                "thresholded_relu(f32[5], alpha=-0.5)"},
};
