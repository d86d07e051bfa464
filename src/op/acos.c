/* acos.c - the arc cosine; NaN outside [-1, 1]. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return acos(x[0]);
}

/* -1 / sqrt(1 - x^2). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id rest =
        takt_mul(g, takt_sub(g, takt_scalar_like(g, x, 1), x), takt_add_scalar(g, x, 1));
    dx[0] = takt_neg(g, takt_div(g, dy[0], takt_unary(g, &takt_op_sqrt, rest)));
}

/* 2 atan(sqrt((1 - x) / (1 + x))): no cancellation near 1, and pi at -1, where the root is
 * infinite. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id above = takt_sub(g, takt_scalar_like(g, x, 1), x);
    const takt_id ratio = takt_div(g, above, takt_add_scalar(g, x, 1));
    out[0] = takt_mul_scalar(g, takt_atan(g, takt_unary(g, &takt_op_sqrt, ratio)), 2);
}

const takt_op takt_op_acos = {
    .name = "acos",
    .summary = "the arc cosine",
    .onnx = {{"Acos", 7, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 36,
    .bound = takt_bound_monotone,
    .error.ulps = 8,
    .falls = 1,
    .samples = {"acos(f32[2, 3] in (-0.9, 0.9))", "acos(f64[7] in (-0.9, 0.9))",
                "acos(f16[1, 5, 2] in (-0.9, 0.9))", "acos(f32[] in (-0.9, 0.9))"},
};
