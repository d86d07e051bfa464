/* sqrt.c - the square root; NaN below 0. */
#include <math.h>

#include "op/ops.h"
#include "op/util/bound.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return sqrt(x[0]);
}

/* 1 / (2 sqrt(x)); infinite at 0. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_div(g, takt_mul_scalar(g, dy[0], 0.5), id);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return sqrt(x);
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return 0.5 / sqrt(x);
}

static void relax(takt_relaxing *r)
{
    static const takt_smooth curve = {.f = curve_f,
                                      .slope = curve_slope,
                                      .inflections = {0},
                                      .inflection_count = 0,
                                      .is_convex_first = false,
                                      .least = 0};
    takt_relax_curve(r, &curve);
}

const takt_op takt_op_sqrt = {
    .name = "sqrt",
    .summary = "the square root",
    .onnx = {{"Sqrt", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .bound = takt_bound_positive,
    .error.ulps = 0.5,
    .relax = relax,
    .samples = {"sqrt(f32[2, 3] in (0.1, 9))", "sqrt(f64[7] in (0.1, 9))",
                "sqrt(f16[1, 5, 2] in (0.1, 9))", "sqrt(f32[] in (0.1, 9))"},
};
