/* eq.c - whether two values are equal; NaN never is, -0 equals +0. */
#include "op/ops.h"
#include "op/util/bound.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    (void)s;
    return x[0] == x[1];
}

static bool eval_p(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] == x[1];
}

/* Surely equal only if both are known; surely unequal if their ranges do not overlap. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_range x = takt_bound_wide(b, 0), y = takt_bound_wide(b, 1);
    const takt_id above = takt_binary(g, &takt_op_le, x.hi, y.lo);
    const takt_id below = takt_binary(g, &takt_op_le, y.hi, x.lo);
    const takt_id apart = takt_binary(g, &takt_op_or, takt_binary(g, &takt_op_lt, x.hi, y.lo),
                                      takt_binary(g, &takt_op_lt, y.hi, x.lo));
    takt_bound_keep(b, 0, takt_cast(g, takt_binary(g, &takt_op_and, above, below), TAKT_F64),
                    takt_cast(g, takt_unary(g, &takt_op_not, apart), TAKT_F64));
}

const takt_op takt_op_eq = {
    .name = "eq",
    .summary = "a == b",
    .onnx = {{"Equal", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PREDICATE | TAKT_PRIMITIVE | TAKT_COMMUTES,
    .dtypes = TAKT_COMPUTE,
    .scalar_i = eval_i,
    .scalar_p = eval_p,
    .no_gradient = "its result is a bool",
    .bound = bound,
    .samples = {"eq(f32[2, 3], f32[2, 3])", "eq(f16[4, 1], f16[3])",
                "eq(i32[5] in (0, 2), i32[5] in (0, 2))", "eq(u64[2, 2], u64[2])",
                "eq(f64[], f64[])", "eq(bool[4], bool[4])"},
};
