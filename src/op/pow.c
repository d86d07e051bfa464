/* pow.c - a to the power of b; negative powers of integers round towards 0. */
#include <math.h>

#include "op/ops.h"

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

const takt_op takt_op_pow = {
    .name = "pow",
    .summary = "a to the power of b",
    .onnx = {{"Pow", 7, 0}},
    .in_min = 2,
    .in_max = 2,
    .in_names = {"lhs", "rhs"},
    .traits = TAKT_ELEMENTWISE | TAKT_PRIMITIVE,
    .dtypes = TAKT_NUMBERS,
    .scalar_f = eval_f,
    .scalar_i = eval_i,
    .grad = grad,
    .flops_per_element = 20,
    .samples = {"pow(f32[2, 3] in (0.2, 3), f32[2, 3])", "pow(f64[4, 1] in (0.2, 3), f64[3])",
                "pow(f32[5] in (0.2, 3), f32[] in (2, 3))",
                "pow(i32[6] in (-3, 3), i32[] in (0, 4))", "pow(u8[2, 2], u8[2] in (0, 9))"},
};
