/* prelu.c - x where x > 0, else slope * x, with learnt slopes. */
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] > 0 ? x[0] : x[1] * x[0];
}

/* slope at 0, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0], slope = takt_node_at(g, id)->in[1];
    const takt_id zero = takt_scalar_like(g, x, 0), is_above = takt_is_above(g, x, 0);
    const takt_id below = takt_mul(g, dy[0], slope);
    dx[0] = takt_sum_to(g, takt_select(g, is_above, dy[0], below), x);
    dx[1] = takt_sum_to(g, takt_select(g, is_above, zero, takt_mul(g, dy[0], x)), slope);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0], slope = n->in[1];
    out[0] = takt_select(g, takt_is_above(g, x, 0), x, takt_mul(g, slope, x));
}

const takt_op takt_op_prelu = {
    .name = "prelu",
    .summary = "x where x > 0, else slope * x, slope being an input",
    .onnx = {{"PRelu", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"x", "slope"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .samples = {"prelu(f32[2, 3], f32[])", "prelu(f64[2, 3, 4], f64[3, 1])",
                "prelu(f16[4, 2], f16[2])", "prelu(f32[], f32[])"},
};
