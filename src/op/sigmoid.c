/* sigmoid.c - the logistic function, 1 / (1 + exp(-x)). */
#include <math.h>

#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return 1 / (1 + exp(-x[0]));
}

/* y (1 - y). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id rest = takt_sub(g, takt_scalar_like(g, id, 1), id);
    dx[0] = takt_mul(g, dy[0], takt_mul(g, id, rest));
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return 1 / (1 + exp(-x));
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return 1 / ((1 + exp(-x)) * (1 + exp(x)));
}

static void relax(takt_relaxing *r)
{
    static const takt_smooth curve = {.f = curve_f,
                                      .slope = curve_slope,
                                      .inflections = {0},
                                      .inflection_count = 1,
                                      .is_convex_first = true,
                                      .least = -INFINITY};
    takt_relax_curve(r, &curve);
}

const takt_op takt_op_sigmoid = {
    .name = "sigmoid",
    .summary = "1 / (1 + exp(-x))",
    .onnx = {{"Sigmoid", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_SIMPLE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .flops_per_element = 12,
    .bound = takt_bound_positive,
    .error.ulps = 2,
    .relax = relax,
    .samples = {"sigmoid(f32[2, 3] in (-5, 5))", "sigmoid(f64[7] in (-5, 5))",
                "sigmoid(f16[1, 5, 2] in (-5, 5))", "sigmoid(f32[] in (-5, 5))"},
};
