/* exp2.c - 2 to the power of x. */
#include <math.h>

#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return exp2(x[0]);
}

/* log(2) y. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_mul(g, dy[0], takt_mul_scalar(g, id, 0.69314718055994530942));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    out[0] = takt_binary(g, &takt_op_pow, takt_scalar_like(g, x, 2), x);
}

const takt_op takt_op_exp2 = {
    .name = "exp2",
    .summary = "2 to the power of x",
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 20,
    .bound = takt_bound_positive,
    .error.ulps = 8,
    .samples = {"exp2(f32[2, 3] in (-3, 3))", "exp2(f64[7] in (-3, 3))",
                "exp2(f16[1, 5, 2] in (-3, 3))", "exp2(f32[] in (-3, 3))"},
};
