/* rsqrt.c - 1 / sqrt(x), by an exact root and an exact division. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return 1 / sqrt(x[0]);
}

/* -y / (2 x). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id slope = takt_mul_scalar(g, takt_div(g, id, x), -0.5);
    dx[0] = takt_mul(g, dy[0], slope);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_reciprocal(g, takt_unary(g, &takt_op_sqrt, n->in[0]));
}

const takt_op takt_op_rsqrt = {
    .name = "rsqrt",
    .summary = "1 / sqrt(x)",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .samples = {"rsqrt(f32[2, 3] in (0.2, 5))", "rsqrt(f64[7] in (0.2, 5))",
                "rsqrt(f16[1, 5, 2] in (0.2, 5))", "rsqrt(f32[] in (0.2, 5))"},
};
