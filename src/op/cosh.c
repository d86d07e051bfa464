/* cosh.c - the hyperbolic cosine. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return cosh(x[0]);
}

/* sinh(x). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id plus = takt_unary(g, &takt_op_exp, x);
    const takt_id minus = takt_unary(g, &takt_op_exp, takt_neg(g, x));
    dx[0] = takt_mul(g, dy[0], takt_mul_scalar(g, takt_sub(g, plus, minus), 0.5));
}

/* w^2 / 2 + 1 / (2 w^2) with w = exp(|x| / 2), since exp(|x|) overflows before cosh does. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id a = takt_unary(g, &takt_op_abs, n->in[0]);
    const takt_id w = takt_unary(g, &takt_op_exp, takt_mul_scalar(g, a, 0.5));
    const takt_id half = takt_mul_scalar(g, w, 0.5);
    const takt_id small = takt_div(g, takt_scalar_like(g, w, 0.5), takt_square(g, w));
    out[0] = takt_add(g, takt_mul(g, half, w), small);
}

static void bound(takt_bounding *b)
{
    takt_bound_valley(b, 0, 1, TAKT_NONE);
}

const takt_op takt_op_cosh = {
    .name = "cosh",
    .summary = "the hyperbolic cosine",
    .onnx = {{"Cosh", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 16,
    .bound = bound,
    .error.ulps = 8,
    .samples = {"cosh(f32[2, 3] in (-3, 3))", "cosh(f64[7] in (-3, 3))",
                "cosh(f16[1, 5, 2] in (-3, 3))", "cosh(f32[] in (-3, 3))",
                "cosh(f32[1] in (-89, -88))"},
};
