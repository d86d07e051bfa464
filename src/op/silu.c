/* silu.c - x * sigmoid(x), also called swish. */
#include <math.h>

#include "op/ops.h"
#include "op/util/bound.h"
#include "op/util/relax.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] / (1 + exp(-x[0]));
}

/* sigmoid(x) (1 + x (1 - sigmoid(x))). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id sigmoid = takt_unary(g, &takt_op_sigmoid, x);
    const takt_id rest = takt_mul(g, x, takt_sub(g, takt_scalar_like(g, x, 1), sigmoid));
    dx[0] = takt_mul(g, dy[0], takt_mul(g, sigmoid, takt_add_scalar(g, rest, 1)));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    out[0] = takt_mul(g, x, takt_unary(g, &takt_op_sigmoid, x));
}

/* Lowest at -1.278, where it is -0.27847. */
static void bound(takt_bounding *b)
{
    takt_bound_valley(b, -1.2784645427610738, -0.27846454276107380, TAKT_NONE);
}

static double curve_f(const takt_node *n, double x)
{
    (void)n;
    return x / (1 + exp(-x));
}

static double curve_slope(const takt_node *n, double x)
{
    (void)n;
    return (1 + x / (1 + exp(x))) / (1 + exp(-x));
}

/* Convex where |x| < 2.399. */
static void relax(takt_relaxing *r)
{
    static const takt_smooth curve = {.f = curve_f,
                                      .slope = curve_slope,
                                      .inflections = {-2.3993572805154677, 2.3993572805154677},
                                      .inflection_count = 2,
                                      .is_convex_first = false,
                                      .least = -INFINITY};
    takt_relax_curve(r, &curve);
}

const takt_op takt_op_silu = {
    .name = "silu",
    .summary = "x * sigmoid(x)",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_WIDENS,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 13,
    .bound = bound,
    .error.ulps = 4,
    .relax = relax,
    .samples = {"silu(f32[2, 3] in (-3, 3))", "silu(f64[7] in (-3, 3))",
                "silu(f16[1, 5, 2] in (-3, 3))", "silu(f32[] in (-3, 3))"},
};
