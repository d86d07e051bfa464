/* celu.c - x where x > 0, else alpha * (exp(x / alpha) - 1): an elu with a smooth derivative. */
#include <math.h>

#include "op/util/formula.h"

enum { ALPHA };

static double eval_f(takt_scalar *s, const double *x)
{
    const double alpha = s->attr[ALPHA].f64;
    return x[0] > 0 ? x[0] : alpha * expm1(x[0] / alpha);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id alpha = takt_scalar_like(g, x, takt_node_at(g, id)->attr[ALPHA].f64);
    const takt_id slope = takt_unary(g, &takt_op_exp, takt_div(g, x, alpha));
    dx[0] = takt_select(g, takt_is_above(g, x, 0), dy[0], takt_mul(g, dy[0], slope));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const double alpha = n->attr[ALPHA].f64;
    const takt_id inner = takt_div(g, x, takt_scalar_like(g, x, alpha));
    const takt_id below = takt_mul_scalar(g, takt_unary(g, &takt_op_expm1, inner), alpha);
    out[0] = takt_select(g, takt_is_above(g, x, 0), x, below);
}

const takt_op takt_op_celu = {
    .name = "celu",
    .summary = "x where x > 0, else alpha * (exp(x / alpha) - 1)",
    .onnx = {{"Celu", 12, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[ALPHA] = {.name = "alpha",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 1,
                         .summary = "minus the limit far below 0"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 21,
    .samples = {"celu(f32[2, 3] in (-3, 3))", "celu(f64[7] in (-3, 3))",
                "celu(f16[1, 5, 2] in (-3, 3))", "celu(f32[] in (-3, 3))",
                "celu(f32[5] in (-4, 1), alpha=2)"},
};
