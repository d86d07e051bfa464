/* erf.c - the error function. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return erf(x[0]);
}

/* 2 / sqrt(pi) * exp(-x^2). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id bell = takt_unary(g, &takt_op_exp, takt_neg(g, takt_square(g, x)));
    dx[0] = takt_mul(g, dy[0], takt_mul_scalar(g, bell, 1.12837916709551257390));
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return erf(x);
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return 1.1283791670955126 * exp(-x * x);
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

const takt_op takt_op_erf = {
    .name = "erf",
    .summary = "the error function",
    .onnx = {{"Erf", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .flops_per_element = 12,
    .bound = takt_bound_monotone,
    .error.ulps = 2,
    .relax = relax,
    .samples = {"erf(f32[2, 3] in (-2, 2))", "erf(f64[7] in (-2, 2))",
                "erf(f16[1, 5, 2] in (-2, 2))", "erf(f32[] in (-2, 2))"},
};
