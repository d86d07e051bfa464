/* tan.c - the tangent of an angle in radians. */
#include <math.h>

#include "op/util/amp.h"
#include "op/util/formula.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return tan(x[0]);
}

/* 1 + y^2. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    dx[0] = takt_mul(g, dy[0], takt_add_scalar(g, takt_square(g, id), 1));
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id x = n->in[0];
    out[0] = takt_div(g, takt_unary(g, &takt_op_sin, x), takt_unary(g, &takt_op_cos, x));
}

const takt_op takt_op_tan = {
    .name = "tan",
    .summary = "the tangent",
    .onnx = {{"Tan", 7, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_AMP_WIDE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .lower = lower,
    .flops_per_element = 21,
    .samples = {"tan(f32[2, 3] in (-1.3, 1.3))", "tan(f64[7] in (-1.3, 1.3))",
                "tan(f16[1, 5, 2] in (-1.3, 1.3))", "tan(f32[] in (-1.3, 1.3))"},
};
