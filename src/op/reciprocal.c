/* reciprocal.c - 1 / x, by division. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/formula.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return 1 / x[0];
}

/* -y^2. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_neg(g, takt_mul(g, dy[0], takt_square(g, id)));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_reciprocal(g, n->in[0]);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return 1 / x;
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return -1 / (x * x);
}

/* Concave below 0 and convex above; nothing holds across 0. */
static void relax(takt_relaxing *r)
{
    static const takt_smooth left = {curve_f, curve_slope, {0}, 0, false, -INFINITY};
    static const takt_smooth right = {curve_f, curve_slope, {0}, 0, true, 0};
    for (size_t i = 0; i < r->count; i++)
        if (r->hi[0][i] < 0 || r->lo[0][i] > 0)
            takt_relax_curve_at(r, r->hi[0][i] < 0 ? &left : &right, i);
        else
            takt_relax_constant(r, i, -INFINITY, INFINITY);
}

const takt_op takt_op_reciprocal = {
    .name = "reciprocal",
    .summary = "1 / x",
    .onnx = {{"Reciprocal", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .relax = relax,
    .samples = {"reciprocal(f32[2, 3] in (0.3, 4))", "reciprocal(f64[7] in (0.3, 4))",
                "reciprocal(f16[1, 5, 2] in (0.3, 4))", "reciprocal(f32[] in (0.3, 4))"},
};
