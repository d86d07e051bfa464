/* leaky_relu.c - x where x > 0, else slope * x. */
#include "op/util/formula.h"
#include "op/util/relax.h"

enum { SLOPE };

static double eval_f(takt_scalar *s, const double *x)
{
    return x[0] > 0 ? x[0] : s->attr[SLOPE].f64 * x[0];
}

/* slope at 0, as in PyTorch. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const double slope = takt_node_at(g, id)->attr[SLOPE].f64;
    /* If the slope is not negative, the result tells where x is above 0. */
    const takt_id by = slope >= 0 ? id : takt_node_at(g, id)->in[0];
    const takt_id below = takt_mul_scalar(g, dy[0], slope);
    dx[0] = takt_select(g, takt_is_above(g, by, 0), dy[0], below);
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id below = takt_mul_scalar(g, x, n->attr[SLOPE].f64);
    out[0] = takt_select(g, takt_is_above(g, x, 0), x, below);
}

static void relax(takt_relaxing *r)
{
    takt_relax_hinge(r, 0, 0, r->node->attr[SLOPE].f64, 1);
}

const takt_op takt_op_leaky_relu = {
    .name = "leaky_relu",
    .summary = "x where x > 0, else slope * x",
    .onnx = {{"LeakyRelu", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .attrs = {[SLOPE] = {.name = "slope",
                         .type = TAKT_ATTR_F64,
                         .fallback.f64 = 0.01,
                         .onnx = "alpha",
                         .summary = "the factor below 0"}},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .relax = relax,
    .samples = {"leaky_relu(f32[2, 3] in (-3, 3))", "leaky_relu(f64[7] in (-3, 3))",
                "leaky_relu(f16[1, 5, 2] in (-3, 3))", "leaky_relu(f32[] in (-3, 3))",
                "leaky_relu(f32[5], slope=0.2)"},
};
