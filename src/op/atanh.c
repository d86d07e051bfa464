/* atanh.c - the inverse of the hyperbolic tangent; NaN outside [-1, 1]. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return atanh(x[0]);
}

/* 1 / (1 - x^2). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_div(
        g, dy[0], takt_mul(g, takt_sub(g, takt_scalar_like(g, x, 1), x), takt_add_scalar(g, x, 1)));
}

/* log((1 + a) / (1 - a)) / 2 with a = |x|, as log1p(2 a / (1 - a)) / 2. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id a = takt_unary(g, &takt_op_abs, x);
    const takt_id rest = takt_sub(g, takt_scalar_like(g, a, 1), a);
    const takt_id twice = takt_log1p(g, takt_div(g, takt_mul_scalar(g, a, 2), rest));
    out[0] = takt_with_sign(g, takt_mul_scalar(g, twice, 0.5), x);
}

const takt_op takt_op_atanh = {
    .name = "atanh",
    .summary = "the inverse hyperbolic tangent",
    .onnx = {{"Atanh", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 24,
    .bound = takt_bound_monotone,
    .error.ulps = 8,
    .samples = {"atanh(f32[2, 3] in (-0.9, 0.9))", "atanh(f64[7] in (-0.9, 0.9))",
                "atanh(f16[1, 5, 2] in (-0.9, 0.9))", "atanh(f32[] in (-0.9, 0.9))"},
};
