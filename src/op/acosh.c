/* acosh.c - the inverse of the hyperbolic cosine; NaN below 1. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"

/* From here on acosh(x) is log(2 x) to the last bit. */
static double limit(takt_dtype dtype)
{
    return dtype == TAKT_F64 ? 268435456 : dtype == TAKT_F32 ? 4096 : 128;
}

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return acosh(x[0]);
}

/* 1 / sqrt(x^2 - 1). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id low = takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, x, -1));
    const takt_id high = takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, x, 1));
    dx[0] = takt_div(g, dy[0], takt_mul(g, low, high));
}

/* log(x + sqrt(x^2 - 1)) as log1p(t + sqrt(t) sqrt(x + 1)) with t = x - 1, which is exact near 1.
 */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id t = takt_add_scalar(g, x, -1);
    const takt_id low = takt_unary(g, &takt_op_sqrt, t);
    const takt_id high = takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, x, 1));
    const takt_id small = takt_log1p(g, takt_add(g, t, takt_mul(g, low, high)));
    const takt_id large =
        takt_add_scalar(g, takt_unary(g, &takt_op_log, x), 0.69314718055994530942);
    out[0] = takt_select(g, takt_is_above(g, x, limit(n->type[0].dtype)), large, small);
}

const takt_op takt_op_acosh = {
    .name = "acosh",
    .summary = "the inverse hyperbolic cosine",
    .onnx = {{"Acosh", 9, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 40,
    .bound = takt_bound_monotone,
    .error.ulps = 8,
    .samples = {"acosh(f32[2, 3] in (1.2, 9))", "acosh(f64[7] in (1.2, 9))",
                "acosh(f16[1, 5, 2] in (1.2, 9))", "acosh(f32[] in (1.2, 9))",
                "acosh(f32[6] in (1, 1e6))"},
};
