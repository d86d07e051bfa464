/* reciprocal.c - 1 / x, by division. */
#include "op/util/formula.h"

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

const takt_op takt_op_reciprocal = {
    .name = "reciprocal",
    .summary = "1 / x",
    .onnx = {{"Reciprocal", 6, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .samples = {"reciprocal(f32[2, 3] in (0.3, 4))", "reciprocal(f64[7] in (0.3, 4))",
                "reciprocal(f16[1, 5, 2] in (0.3, 4))", "reciprocal(f32[] in (0.3, 4))"},
};
