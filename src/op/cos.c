/* cos.c - the cosine of an angle in radians. */
#include <math.h>

#include "op/ops.h"
#include "op/util/bound.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return cos(x[0]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id x = takt_node_at(g, id)->in[0];
    dx[0] = takt_neg(g, takt_mul(g, dy[0], takt_unary(g, &takt_op_sin, x)));
}

static void bound(takt_bounding *b)
{
    takt_bound_wave(b, 0);
}

const takt_op takt_op_cos = {
    .name = "cos",
    .summary = "the cosine",
    .onnx = {{"Cos", 7, 0}},
    .in_min = 1,
    .in_max = 1,
    .in_names = {"x"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_FLOATS,
    .scalar_f = eval_f,
    .grad = grad,
    .flops_per_element = 10,
    .bound = bound,
    .error.ulps = 2,
    .samples = {"cos(f32[2, 3] in (-6, 6))", "cos(f64[7] in (-6, 6))",
                "cos(f16[1, 5, 2] in (-6, 6))", "cos(f32[] in (-6, 6))"},
};
