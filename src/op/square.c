/* square.c - x * x; integers wrap. */
#include <math.h>

#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] * x[0];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return (int64_t)((uint64_t)x[0] * (uint64_t)x[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_mul(g, dy[0], takt_mul_scalar(g, x, 2));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_square(g, n->in[0]);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return x * x;
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return 2 * x;
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

const takt_op takt_op_square = {
    .name = "square",
    .summary = "x * x",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .lower = lower,
    .relax = relax,
    .samples = {"square(f32[2, 3] in (-3, 3))", "square(f64[7] in (-3, 3))",
                "square(f16[1, 5, 2] in (-3, 3))", "square(f32[] in (-3, 3))", "square(i32[4])",
                "square(u8[2, 3])"},
};
