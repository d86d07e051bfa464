/* exp.c - e to the power of x. */
#include <math.h>

#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return exp(x[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_mul(g, dy[0], id);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return exp(x);
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return exp(x);
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

const takt_op takt_op_exp = {
    .name = "exp",
    .summary = "e to the power of x",
    .onnx = {{"Exp", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .flops_per_element = 10,
    .bound = takt_bound_positive,
    .error.ulps = 2,
    .relax = relax,
    .samples = {"exp(f32[2, 3] in (-4, 4))", "exp(f64[7] in (-4, 4))",
                "exp(f16[1, 5, 2] in (-4, 4))", "exp(f32[] in (-4, 4))"},
};
