/* softsign.c - x / (1 + |x|). */
#include <math.h>

#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] / (1 + fabs(x[0]));
}

/* 1 / (1 + |x|)^2. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id size = takt_add_scalar(g, takt_unary(g, &takt_op_abs, x), 1);
    dx[0] = takt_div(g, dy[0], takt_square(g, size));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    out[0] = takt_div(g, x, takt_add_scalar(g, takt_unary(g, &takt_op_abs, x), 1));
}

const takt_op takt_op_softsign = {
    .name = "softsign",
    .summary = "x / (1 + |x|)",
    .onnx = {{"Softsign", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 3,
    .samples = {"softsign(f32[2, 3] in (-3, 3))", "softsign(f64[7] in (-3, 3))",
                "softsign(f16[1, 5, 2] in (-3, 3))", "softsign(f32[] in (-3, 3))"},
};
