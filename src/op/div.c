/* div.c - the quotient; integers round towards 0, and division by 0 fails. */
#include "op/ops.h"
#include "op/util/bound.h"

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return x[0] / x[1];
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    if (x[1] == 0) {
        s->fault = true;
        return 0;
    }
    if (s->dtype == TAKT_U64)
        return (int64_t)((uint64_t)x[0] / (uint64_t)x[1]);
    /* The least integer divided by -1 wraps. */
    return x[1] == -1 ? (int64_t)(0 - (uint64_t)x[0]) : x[0] / x[1];
}

/* 1 / b and -y / b. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id a = takt_node_at(g, id)->in[0], b = takt_node_at(g, id)->in[1];
    const takt_id share = takt_div(g, dy[0], b);
    dx[0] = takt_sum_to(g, share, a);
    dx[1] = takt_sum_to(g, takt_neg(g, takt_mul(g, share, id)), b);
}

/* The extremes are at the corners if the divisor is not 0. If it may be, nothing is known except
 * that integers stay in their type. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    const takt_range x = takt_bound_wide(b, 0), y = takt_bound_wide(b, 1);
    const takt_id zero = takt_bound_number(b, 0);
    const takt_id at[] = {takt_div(g, x.lo, y.lo), takt_div(g, x.lo, y.hi), takt_div(g, x.hi, y.lo),
                          takt_div(g, x.hi, y.hi)};
    takt_id lo =
        takt_bound_min(b, takt_bound_min(b, at[0], at[1]), takt_bound_min(b, at[2], at[3]));
    takt_id hi =
        takt_bound_max(b, takt_bound_max(b, at[0], at[1]), takt_bound_max(b, at[2], at[3]));
    const takt_id is_apart = takt_binary(g, &takt_op_or, takt_binary(g, &takt_op_lt, zero, y.lo),
                                         takt_binary(g, &takt_op_lt, y.hi, zero));
    const takt_id bad = takt_unary(g, &takt_op_not, is_apart);
    if (!takt_dtype_is_float(b->node->type[0].dtype)) {
        lo = takt_unary(g, &takt_op_floor, lo); /* rounds towards 0, and the quotient rounds too */
        hi = takt_unary(g, &takt_op_ceil, hi);
    }
    takt_bound_set(b, 0, takt_bound_spoil(b, bad, lo), takt_bound_spoil(b, bad, hi), 0.5,
                   TAKT_NONE);
}

const takt_op takt_op_div = {
    .name = "div",
    .summary = "a / b; integers round towards 0",
    .onnx = {{"Div", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .bound = bound,
    .error.ulps = 0.5,
    .affine = 1,
    .samples = {"div(f32[2, 3], f32[2, 3] in (0.5, 3))", "div(f32[4, 1, 3], f32[5, 1] in (0.5, 3))",
                "div(f64[], f64[7] in (0.5, 3))", "div(f16[3], f16[2, 3] in (0.5, 3))",
                "div(i32[2, 3], i32[3] in (1, 5))", "div(u8[5], u8[5] in (1, 9))",
                "div(i64[4], i64[4] in (-3, -1))"},
};
