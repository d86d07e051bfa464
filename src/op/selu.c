/* selu.c - the self-normalising scaled elu. */
#include <math.h>

#include "op/util/formula.h"

enum { ALPHA, SCALE };

static double eval_f(takt_scalar *s, const double *x)
{
    return s->attr[SCALE].f64 * (x[0] > 0 ? x[0] : s->attr[ALPHA].f64 * expm1(x[0]));
}

/* Below 0 scale * alpha * exp(x) = y + scale * alpha. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_attr *attr = takt_node_at(g, id)->attr;
    const double scale = attr[SCALE].f64, limit = scale * attr[ALPHA].f64;
    const takt_id below = takt_mul(g, dy[0], takt_add_scalar(g, id, limit));
    dx[0] = takt_select(g, takt_is_above(g, x, 0), takt_mul_scalar(g, dy[0], scale), below);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id below = takt_mul_scalar(g, takt_unary(g, &takt_op_expm1, x), n->attr[ALPHA].f64);
    const takt_id elu = takt_select(g, takt_is_above(g, x, 0), x, below);
    out[0] = takt_mul_scalar(g, elu, n->attr[SCALE].f64);
}

const takt_op takt_op_selu = {
    .name = "selu",
    .summary = "scale * (x where x > 0, else alpha * (exp(x) - 1))",
    .onnx = {{"Selu", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[ALPHA] = {.name = "alpha",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 1.67326319217681884765625,
                         .summary = "minus the limit of the inner elu"},
              [SCALE] = {.name = "scale",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 1.05070102214813232421875,
                         .onnx = "gamma",
                         .summary = "the factor of all"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 21,
    .samples = {"selu(f32[2, 3] in (-3, 3))", "selu(f64[7] in (-3, 3))",
                "selu(f16[1, 5, 2] in (-3, 3))", "selu(f32[] in (-3, 3))",
                "selu(f32[5], alpha=1, scale=2)"},
};
