/* lt.c - whether a is less than b; false where either is NaN. */
#include "op/ops.h"
#include "op/util/bound.h"

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    return s->dtype == TAKT_U64 ? (uint64_t)x[0] < (uint64_t)x[1] : x[0] < x[1];
}

static bool eval_p(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] < x[1];
}

/* A NaN bound makes both comparisons false: either result is possible. */
static void bound(takt_bounding *b)
{
    const takt_range x = takt_bound_wide(b, 0), y = takt_bound_wide(b, 1);
    const takt_id surely = takt_binary(b->g, &takt_op_lt, x.hi, y.lo);
    const takt_id never = takt_binary(b->g, &takt_op_le, y.hi, x.lo);
    takt_bound_keep(b, 0, takt_cast(b->g, surely, TAKT_F64),
                    takt_cast(b->g, takt_unary(b->g, &takt_op_not, never), TAKT_F64));
}

const takt_op takt_op_lt = {
    .name = "lt",
    .summary = "a < b",
    .onnx = {{"Less", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PREDICATE | TAKT_PRIMITIVE,
    .dtypes = TAKT_COMPUTE,
    .scalar_i = eval_i,
    .scalar_p = eval_p,
    .no_gradient = "its result is a bool",
    .bound = bound,
    .samples = {"lt(f32[2, 3], f32[2, 3])", "lt(f16[4, 1], f16[3])",
                "lt(i32[5] in (0, 2), i32[5] in (0, 2))", "lt(u64[2, 2], u64[2])",
                "lt(f64[], f64[])"},
};
