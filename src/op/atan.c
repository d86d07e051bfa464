/* atan.c - the arc tangent. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return atan(x[0]);
}

/* 1 / (1 + x^2). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_div(g, dy[0], takt_add_scalar(g, takt_square(g, x), 1));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_atan(g, n->in[0]);
}

const takt_op takt_op_atan = {
    .name = "atan",
    .summary = "the arc tangent",
    .onnx = {{"Atan", 7, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 30,
    .bound = takt_bound_monotone,
    .error.ulps = 8,
    .samples = {"atan(f32[2, 3] in (-3, 3))", "atan(f64[7] in (-3, 3))",
                "atan(f16[1, 5, 2] in (-3, 3))", "atan(f32[] in (-3, 3))",
                "atan(f64[9] in (-40, 40))"},
};
