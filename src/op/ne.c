/* ne.c - whether two values differ; NaN differs from everything. */
#include "op/ops.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return x[0] != x[1];
}

static bool eval_p(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] != x[1];
}

static void lower(takt_graph *g, const takt_node *n, takt_id *out)
{
    const takt_id equal = takt_binary(g, &takt_op_eq, n->in[0], n->in[1]);
    out[0] = takt_unary(g, &takt_op_not, equal);
}

const takt_op takt_op_ne = {
    .name = "ne",
    .summary = "a != b",
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PREDICATE | TAKT_COMMUTES,
    .dtypes = TAKT_COMPUTE,
    .scalar_i = eval_i,
    .scalar_p = eval_p,
    .lower = lower,
    .samples = {"ne(f32[2, 3], f32[2, 3])", "ne(f16[4, 1], f16[3])",
                "ne(i32[5] in (0, 2), i32[5] in (0, 2))", "ne(u64[2, 2], u64[2])",
                "ne(f64[], f64[])", "ne(bool[4], bool[4])"},
};
