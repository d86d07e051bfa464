/* softplus.c - log(1 + exp(x)), without overflow. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return (x[0] > 0 ? x[0] : 0) + log1p(exp(-fabs(x[0])));
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_mul(g, dy[0], takt_unary(g, &takt_op_sigmoid, x));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_softplus(g, n->in[0]);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return 1 / (1 + exp(-x));
}

static void relax(takt_relaxing *r)
{
    static const takt_smooth curve = {.f = curve_f,
                                      .slope = curve_slope,
                                      .inflections = {0},
                                      .inflection_count = 0,
                                      .is_convex_first = true,
                                      .least = -INFINITY};
    takt_relax_curve(r, &curve);
}

const takt_op takt_op_softplus = {
    .name = "softplus",
    .summary = "log(1 + exp(x))",
    .onnx = {{"Softplus", 1, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 30,
    .bound = takt_bound_positive,
    .error.ulps = 8,
    .relax = relax,
    .samples = {"softplus(f32[2, 3] in (-3, 3))", "softplus(f64[7] in (-3, 3))",
                "softplus(f16[1, 5, 2] in (-3, 3))", "softplus(f32[] in (-3, 3))",
                "softplus(f32[6] in (-90, 90))"},
};
