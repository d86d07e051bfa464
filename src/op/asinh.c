/* asinh.c - the inverse of the hyperbolic sine. */
#include <math.h>

#include "op/util/bound.h"
#include "op/util/formula.h"

/* From here on asinh(a) is log(2 a) to the last bit, and a^2 does not overflow yet. */
static double limit(takt_dtype dtype)
{
    return dtype == TAKT_F64 ? 268435456 : dtype == TAKT_F32 ? 4096 : 128;
}

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return asinh(x[0]);
}

/* 1 / sqrt(x^2 + 1). */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    const takt_id root = takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, takt_square(g, x), 1));
    dx[0] = takt_div(g, dy[0], root);
}

/* log(a + sqrt(a^2 + 1)) with a = |x|, as log1p(a + a^2 / (1 + sqrt(a^2 + 1))). */
static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    const takt_id a = takt_unary(g, &takt_op_abs, x), square = takt_square(g, a);
    const takt_id root = takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, square, 1));
    const takt_id rest = takt_div(g, square, takt_add_scalar(g, root, 1));
    const takt_id small = takt_log1p(g, takt_add(g, a, rest));
    const takt_id large =
        takt_add_scalar(g, takt_unary(g, &takt_op_log, a), 0.69314718055994530942);
    const takt_id is_large = takt_is_above(g, a, limit(n->type[0].dtype));
    out[0] = takt_with_sign(g, takt_select(g, is_large, large, small), x);
}

const takt_op takt_op_asinh = {
    .name = "asinh",
    .summary = "the inverse hyperbolic sine",
    .onnx = {{"Asinh", 9, 0}},
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
    .samples = {"asinh(f32[2, 3] in (-3, 3))", "asinh(f64[7] in (-3, 3))",
                "asinh(f16[1, 5, 2] in (-3, 3))", "asinh(f32[] in (-3, 3))",
                "asinh(f32[6] in (-1e6, 1e6))"},
};
