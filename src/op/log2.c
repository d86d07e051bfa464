/* log2.c - the logarithm to base 2. */
#include <math.h>

#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return log2(x[0]);
}

/* 1 / (x log(2)). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_div(g, dy[0], takt_mul_scalar(g, x, 0.69314718055994530942));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_mul_scalar(g, takt_unary(g, &takt_op_log, n->in[0]), 1.44269504088896340736);
}

const takt_op takt_op_log2 = {
    .name = "log2",
    .summary = "the logarithm to base 2",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 11,
    .bound = takt_bound_monotone,
    .error.ulps = 8,
    .samples = {"log2(f32[2, 3] in (0.1, 9))", "log2(f64[7] in (0.1, 9))",
                "log2(f16[1, 5, 2] in (0.1, 9))", "log2(f32[] in (0.1, 9))"},
};
