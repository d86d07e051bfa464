/* gt.c - whether a is greater than b; false where either is NaN. */
#include "op/ops.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    return s->dtype == TAKT_U64 ? (uint64_t)x[0] > (uint64_t)x[1] : x[0] > x[1];
}

static bool eval_p(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] > x[1];
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    out[0] = takt_binary(g, &takt_op_lt, n->in[1], n->in[0]);
}

const takt_op takt_op_gt = {
    .name = "gt",
    .summary = "a > b",
    .onnx = {{"Greater", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PREDICATE,
    .dtypes = TAKT_COMPUTE,
    .scalar_i = eval_i,
    .scalar_p = eval_p,
    .lower = lower,
    .samples = {"gt(f32[2, 3], f32[2, 3])", "gt(f16[4, 1], f16[3])",
                "gt(i32[5] in (0, 2), i32[5] in (0, 2))", "gt(u64[2, 2], u64[2])",
                "gt(f64[], f64[])"},
};
