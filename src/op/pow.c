/* pow.c - a to the power of b; negative powers of integers round towards 0. */
#include <math.h>

#include "op/ops.h"
#include "op/util/amp.h"
#include "op/util/bound.h"

/* By squaring, modulo 2^64. */
static int64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
        if ((exponent & 1) != 0)
            result *= base;
    return (int64_t)result;
}

static double eval_f(takt_scalar *s, const double *x)
{
    (void)s;
    return pow(x[0], x[1]);
}

static int64_t eval_i(takt_scalar *s, const int64_t *x)
{
    if (takt_dtype_is_unsigned(s->dtype) || x[1] >= 0)
        return power((uint64_t)x[0], (uint64_t)x[1]);
    if (x[0] == 0)
        s->fault = true; /* 1 / 0 */
    if (x[0] == -1)
        return (x[1] & 1) != 0 ? -1 : 1;
    return x[0] == 1;
}

/* b a^(b-1), but 0 where b is 0; a^b log(a), but 0 where a is 0 and b is not negative. Without the
 * exceptions 0 * inf would give NaN. */
static void grad(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    const takt_id a = takt_node_at(g, id)->in[0], b = takt_node_at(g, id)->in[1];
    const takt_id zero = takt_scalar_like(g, a, 0);
    const takt_id steep =
        takt_mul(g, b, takt_binary(g, &takt_op_pow, a, takt_add_scalar(g, b, -1)));
    const takt_id is_flat = takt_binary(g, &takt_op_eq, b, zero);
    dx[0] = takt_sum_to(g, takt_mul(g, dy[0], takt_select(g, is_flat, zero, steep)), a);
    const takt_id slope = takt_mul(g, id, takt_unary(g, &takt_op_log, a));
    const takt_id is_zero = takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_eq, a, zero),
                                        takt_binary(g, &takt_op_le, zero, b));
    dx[1] = takt_sum_to(g, takt_mul(g, dy[0], takt_select(g, is_zero, zero, slope)), b);
}

/* For x > 0 it is monotone in both, so the extremes are at the corners. For other x only a known
 * exponent helps: an even power is lowest in the middle, an odd one rises. */
static void bound(takt_bounding *b)
{
    takt_graph *g = b->g;
    if (!takt_dtype_is_float(b->node->type[0].dtype)) {
        takt_bound_any(b);
        return;
    }
    const takt_range x = takt_bound_wide(b, 0), y = takt_bound_wide(b, 1);
    const takt_id zero = takt_bound_number(b, 0), two = takt_bound_number(b, 2);
    takt_id lo = TAKT_NONE, hi = TAKT_NONE;
    for (int i = 0; i < 4; i++) {
        const takt_id at =
            takt_binary(g, &takt_op_pow, i < 2 ? x.lo : x.hi, i % 2 == 0 ? y.lo : y.hi);
        lo = i == 0 ? at : takt_bound_min(b, lo, at);
        hi = i == 0 ? at : takt_bound_max(b, hi, at);
    }
    const takt_id is_above = takt_binary(g, &takt_op_lt, zero, x.lo);
    takt_id good = is_above;
    if (b->in[1].is_point) {
        const takt_id half = takt_mul_scalar(g, y.lo, 0.5);
        const takt_id even = takt_binary(g, &takt_op_eq, half, takt_unary(g, &takt_op_floor, half));
        const takt_id whole =
            takt_binary(g, &takt_op_eq, y.lo, takt_unary(g, &takt_op_floor, y.lo));
        const takt_id is_low = takt_binary(g, &takt_op_lt, x.hi, zero);
        const takt_id rises =
            takt_binary(g, &takt_op_and, whole, takt_binary(g, &takt_op_le, zero, y.lo));
        const takt_id has_zero =
            takt_unary(g, &takt_op_not, takt_binary(g, &takt_op_or, is_above, is_low));
        /* x^2, x^4: 0 if x may be 0; otherwise the corners are right for every integer power. */
        const takt_id flat =
            takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_and, even, has_zero),
                        takt_binary(g, &takt_op_le, two, y.lo));
        lo = takt_select(g, flat, zero, lo);
        const takt_id apart = takt_binary(g, &takt_op_and, whole, is_low);
        good = takt_binary(g, &takt_op_or, good, takt_binary(g, &takt_op_or, rises, apart));
    }
    const takt_id bad = takt_unary(g, &takt_op_not, good);
    takt_bound_set(b, 0, takt_bound_spoil(b, bad, lo), takt_bound_spoil(b, bad, hi), 4, TAKT_NONE);
}

const takt_op takt_op_pow = {
    .name = "pow",
    .summary = "a to the power of b",
    .onnx = {{"Pow", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE | TAKT_AMP_WIDE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .flops_per_element = 20,
    .bound = bound,
    .error.ulps = 4,
    .samples = {"pow(f32[2, 3] in (0.2, 3), f32[2, 3])", "pow(f64[4, 1] in (0.2, 3), f64[3])",
                "pow(f32[5] in (0.2, 3), f32[] in (2, 3))",
                "pow(i32[6] in (-3, 3), i32[] in (0, 4))", "pow(u8[2, 2], u8[2] in (0, 9))"},
};
