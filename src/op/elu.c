/* elu.c - x where x > 0, else alpha * (exp(x) - 1). */
#include <math.h>

#include "op/util/formula.h"

enum { ALPHA };

static double eval_f(takt_scalar *s, const double *x)
{
    return x[0] > 0 ? x[0] : s->attr[ALPHA].f64 * expm1(x[0]);
}

/* Below 0 alpha * exp(x) = y + alpha; alpha at 0, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const double alpha = takt_node_at(g, id)->attr[ALPHA].f64;
    /* If alpha is not negative, the result tells where x is above 0. */
    const takt_id by = alpha >= 0 ? id : takt_node_at(g, id)->in[0];
    const takt_id below = takt_mul(g, dy[0], takt_add_scalar(g, id, alpha));
    dx[0] = takt_select(g, takt_is_above(g, by, 0), dy[0], below);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id below = takt_mul_scalar(g, takt_unary(g, &takt_op_expm1, x), n->attr[ALPHA].f64);
    out[0] = takt_select(g, takt_is_above(g, x, 0), x, below);
}

const takt_op takt_op_elu = {
    .name = "elu",
    .summary = "x where x > 0, else alpha * (exp(x) - 1)",
    .onnx = {{"Elu", 6, 0}},
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
    .flops_per_element = 20,
    .samples = {"elu(f32[2, 3] in (-3, 3))", "elu(f64[7] in (-3, 3))",
                "elu(f16[1, 5, 2] in (-3, 3))", "elu(f32[] in (-3, 3))",
                "elu(f32[5] in (-4, 1), alpha=0.5)"},
};
