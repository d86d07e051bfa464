/* expm1.c - exp(x) - 1, accurate near 0. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/bound.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return expm1(x[0]);
}

/* y + 1. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_mul(g, dy[0], takt_add_scalar(g, id, 1));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_expm1(g, n->in[0]);
}

const takt_op takt_op_expm1 = {
    .name = "expm1",
    .summary = "exp(x) - 1",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_WHOLE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 26,
    .bound = takt_bound_monotone,
    .error.ulps = 2,
    .samples = {"expm1(f32[2, 3] in (-3, 3))", "expm1(f64[7] in (-3, 3))",
                "expm1(f16[1, 5, 2] in (-3, 3))", "expm1(f32[] in (-3, 3))",
                "expm1(f32[6] in (-0.001, 0.001))", "expm1(f32[6] in (-200, 80))"},
};
