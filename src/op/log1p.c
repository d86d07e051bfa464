/* log1p.c - log(1 + x), accurate near 0. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return log1p(x[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_div(g, dy[0], takt_add_scalar(g, x, 1));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_log1p(g, n->in[0]);
}

const takt_op takt_op_log1p = {
    .name = "log1p",
    .summary = "log(1 + x)",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_WHOLE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 16,
    .bound = takt_bound_monotone,
    .error.ulps = 2,
    .samples = {"log1p(f32[2, 3] in (-0.9, 5))", "log1p(f64[7] in (-0.9, 5))",
                "log1p(f16[1, 5, 2] in (-0.9, 5))", "log1p(f32[] in (-0.9, 5))",
                "log1p(f32[6] in (-0.001, 0.001))"},
};
