/* sub.c - the difference; integers wrap. */
#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] - x[1];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return (int64_t)((uint64_t)x[0] - (uint64_t)x[1]);
}

static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id a = takt_node_at(g, id)->in[0], b = takt_node_at(g, id)->in[1];
    dx[0] = takt_sum_to(g, dy[0], a);
    dx[1] = takt_sum_to(g, takt_neg(g, dy[0]), b);
}

const takt_op takt_op_sub = {
    .name = "sub",
    .summary = "a - b",
    .onnx = {{"Sub", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_SIMPLE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = takt_bound_add,
    .error.ulps = 0.5,
    .falls = 2,
    .affine = 3,
    .samples = {"sub(f32[2, 3], f32[2, 3])", "sub(f32[4, 1, 3], f32[5, 1])", "sub(f64[], f64[7])",
                "sub(f16[3], f16[2, 3])", "sub(i32[2, 3], i32[3])", "sub(u8[5], u8[5])"},
};
