/* tanh.c - the hyperbolic tangent. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return tanh(x[0]);
}

/* 1 - y^2. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id slope = takt_sub(g, takt_scalar_like(g, id, 1), takt_square(g, id));
    dx[0] = takt_mul(g, dy[0], slope);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return tanh(x);
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return 1 / (cosh(x) * cosh(x));
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

const takt_op takt_op_tanh = {
    .name = "tanh",
    .summary = "the hyperbolic tangent",
    .onnx = {{"Tanh", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_SIMPLE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .flops_per_element = 10,
    .bound = takt_bound_monotone,
    .error.ulps = 2,
    .relax = relax,
    .samples = {"tanh(f32[2, 3] in (-3, 3))", "tanh(f64[7] in (-3, 3))",
                "tanh(f16[1, 5, 2] in (-3, 3))", "tanh(f32[] in (-3, 3))"},
};
