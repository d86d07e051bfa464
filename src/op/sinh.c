/* sinh.c - the hyperbolic sine. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return sinh(x[0]);
}

/* cosh(x). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id plus = takt_unary(g, &takt_op_exp, x);
    const takt_id minus = takt_unary(g, &takt_op_exp, takt_neg(g, x));
    dx[0] = takt_mul(g, dy[0], takt_mul_scalar(g, takt_add(g, plus, minus), 0.5));
}

/* With e = exp(|x|) - 1: (e + e / (e + 1)) / 2. Beyond `limit` exp(-|x|) is lost in rounding, and
 * exp(|x|) / 2 is formed from square roots, since exp overflows before sinh does. */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id a = takt_unary(g, &takt_op_abs, n->in[0]);
    const takt_id w = takt_unary(g, &takt_op_exp, takt_mul_scalar(g, a, 0.5));
    const double limit = n->type[0].dtype == TAKT_F64 ? 22 : 9;
    const takt_id large = takt_mul(g, takt_mul_scalar(g, w, 0.5), w);
    const takt_id e = takt_expm1(g, a);
    const takt_id both = takt_add(g, e, takt_div(g, e, takt_add_scalar(g, e, 1)));
    const takt_id small = takt_mul_scalar(g, both, 0.5);
    out[0] = takt_with_sign(g, takt_select(g, takt_is_above(g, a, limit), large, small), n->in[0]);
}

const takt_op takt_op_sinh = {
    .name = "sinh",
    .summary = "the hyperbolic sine",
    .onnx = {{"Sinh", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 40,
    .bound = takt_bound_monotone,
    .error.ulps = 8,
    .samples = {"sinh(f32[2, 3] in (-3, 3))", "sinh(f64[7] in (-3, 3))",
                "sinh(f16[1, 5, 2] in (-3, 3))", "sinh(f32[] in (-3, 3))",
                "sinh(f32[1] in (88, 89))"},
};
