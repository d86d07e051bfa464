/* log.c - the natural logarithm; -inf at 0, NaN below. */
#include <math.h>

#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return log(x[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_div(g, dy[0], x);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return log(x);
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return 1 / x;
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

const takt_op takt_op_log = {
    .name = "log",
    .summary = "the natural logarithm",
    .onnx = {{"Log", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .flops_per_element = 10,
    .bound = takt_bound_monotone,
    .error.ulps = 2,
    .relax = relax,
    .samples = {"log(f32[2, 3] in (0.1, 9))", "log(f64[7] in (0.1, 9))",
                "log(f16[1, 5, 2] in (0.1, 9))", "log(f32[] in (0.1, 9))"},
};
