/* formula.c - pieces of formulas that several ops lower to. */
#include "op/util/formula.h"
#include "op/record/log1p.h"

takt_id takt_reciprocal(takt_graph *g, takt_id x)
{
    return takt_div(g, takt_scalar_like(g, x, 1), x);
}

takt_id takt_square(takt_graph *g, takt_id x)
{
    return takt_mul(g, x, x);
}

/* With u = exp(x) rounded, (u - 1) / log(u) has almost the same relative error as exp(x) - 1 has to
 * x, so (u - 1) * (x / log(u)) is accurate although u - 1 is not (Kahan). Where u is 1 the answer
 * is x; below 1/2 u - 1 has no cancellation, and at infinity the quotient is unused. */
takt_id takt_expm1(takt_graph *g, takt_id x)
{
    const takt_id one = takt_scalar_like(g, x, 1);
    const takt_id u = takt_unary(g, &takt_op_exp, x);
    const takt_id less = takt_sub(g, u, one);
    const takt_id exact = takt_mul(g, less, takt_div(g, x, takt_unary(g, &takt_op_log, u)));
    const takt_id is_plain =
        takt_binary(g, &takt_op_or, takt_is_below(g, u, 0.5), takt_unary(g, &takt_op_is_inf, u));
    const takt_id is_small = takt_binary(g, &takt_op_eq, u, one);
    return takt_select(g, is_small, x, takt_select(g, is_plain, less, exact));
}

/* The same idea: with u = 1 + x rounded, log(u) * (x / (u - 1)). */
takt_id takt_log1p(takt_graph *g, takt_id x)
{
    const takt_id one = takt_scalar_like(g, x, 1);
    const takt_id u = takt_add(g, x, one);
    const takt_id log_u = takt_unary(g, &takt_op_log, u);
    const takt_id exact = takt_mul(g, log_u, takt_div(g, x, takt_sub(g, u, one)));
    const takt_id is_void = takt_unary(g, &takt_op_is_inf, u);
    const takt_id is_small = takt_binary(g, &takt_op_eq, u, one);
    return takt_select(g, is_small, x, takt_select(g, is_void, log_u, exact));
}

takt_id takt_softplus(takt_graph *g, takt_id x)
{
    const takt_id size = takt_unary(g, &takt_op_abs, x);
    const takt_id tail = takt_unary(g, &takt_op_exp, takt_neg(g, size));
    return takt_add(g, takt_unary(g, &takt_op_relu, x), takt_unary(g, &takt_op_log1p, tail));
}

/* t - t^3/3 + t^5/5 - …, for |t| <= tan(pi/16), where thirteen terms reach f64. */
static takt_id atan_series(takt_graph *g, takt_id t, int terms)
{
    const takt_id z = takt_square(g, t);
    takt_id sum = takt_scalar_like(g, t, (terms % 2 == 0 ? -1.0 : 1.0) / (2 * terms - 1));
    for (int k = terms - 1; k >= 2; k--)
        sum = takt_add_scalar(g, takt_mul(g, sum, z), (k % 2 == 0 ? -1.0 : 1.0) / (2 * k - 1));
    return takt_add(g, t, takt_mul(g, takt_mul(g, sum, z), t));
}

/* |x| is brought to |t| <= tan(pi/8) by atan(a) = pi/2 + atan(-1/a) = pi/4 + atan((a-1)/(a+1)),
 * then halved by atan(t) = 2 atan(t / (1 + sqrt(1 + t^2))). */
takt_id takt_atan(takt_graph *g, takt_id x)
{
    const double pi = 3.14159265358979323846;
    const bool is_f64 = x != TAKT_NONE && takt_type_of(g, x)->dtype == TAKT_F64;
    const takt_id a = takt_unary(g, &takt_op_abs, x);
    const takt_id is_middle = takt_is_above(g, a, 0.4142135623730951);
    const takt_id is_large = takt_is_above(g, a, 2.414213562373095);
    const takt_id middle = takt_div(g, takt_add_scalar(g, a, -1), takt_add_scalar(g, a, 1));
    const takt_id large = takt_div(g, takt_scalar_like(g, a, -1), a);
    const takt_id t = takt_select(g, is_large, large, takt_select(g, is_middle, middle, a));
    const takt_id root = takt_unary(g, &takt_op_sqrt, takt_add_scalar(g, takt_square(g, t), 1));
    const takt_id half = takt_div(g, t, takt_add_scalar(g, root, 1));
    const takt_id series = takt_mul_scalar(g, atan_series(g, half, is_f64 ? 13 : 6), 2);
    const takt_id quarter = takt_scalar_like(g, a, pi / 4), right = takt_scalar_like(g, a, pi / 2);
    const takt_id start = takt_select(
        g, is_large, right, takt_select(g, is_middle, quarter, takt_scalar_like(g, a, 0)));
    return takt_with_sign(g, takt_add(g, start, series), x);
}

takt_id takt_clamp(takt_graph *g, takt_id x, double low, double high)
{
    const takt_id raised = takt_binary(g, &takt_op_max, x, takt_scalar_like(g, x, low));
    return takt_binary(g, &takt_op_min, raised, takt_scalar_like(g, x, high));
}

/* Odd functions lower to f(|x|); all of them are 0 at 0, with the sign of x. */
takt_id takt_with_sign(takt_graph *g, takt_id value, takt_id x)
{
    const takt_id zero = takt_scalar_like(g, x, 0);
    const takt_id is_zero = takt_binary(g, &takt_op_eq, x, zero);
    const takt_id is_negative = takt_binary(g, &takt_op_lt, x, zero);
    return takt_select(g, is_zero, x, takt_select(g, is_negative, takt_neg(g, value), value));
}

takt_id takt_is_above(takt_graph *g, takt_id x, double value)
{
    return takt_binary(g, &takt_op_lt, takt_scalar_like(g, x, value), x);
}

takt_id takt_is_below(takt_graph *g, takt_id x, double value)
{
    return takt_binary(g, &takt_op_lt, x, takt_scalar_like(g, x, value));
}

takt_id takt_keep_where(takt_graph *g, takt_id condition, takt_id x)
{
    return takt_select(g, condition, x, takt_scalar_like(g, x, 0));
}

static bool is_half(takt_dtype dtype)
{
    return dtype == TAKT_F16 || dtype == TAKT_BF16;
}

takt_id takt_widen(takt_graph *g, takt_id x)
{
    if (x == TAKT_NONE)
        return TAKT_NONE;
    return is_half(takt_type_of(g, x)->dtype) ? takt_cast(g, x, TAKT_F32) : x;
}

bool takt_is_widened(const takt_node *n)
{
    return (n->op->traits & TAKT_WIDENS) != 0 && is_half(n->type[0].dtype);
}

takt_id takt_append_widened(takt_graph *g, const takt_node *n)
{
    enum { INPUTS = 8 }; /* more than such ops have */
    takt_id in[INPUTS];
    for (uint32_t k = 0; k < n->in_count && k < INPUTS; k++)
        in[k] = takt_widen(g, n->in[k]);
    return takt_cast(g, takt_graph_append(g, n->op, n->in_count, in, n->attr), n->type[0].dtype);
}

void takt_grad_zero(takt_graph *g, takt_id id, const takt_id *dy, takt_id *dx)
{
    (void)g, (void)id, (void)dy;
    dx[0] = TAKT_NONE;
}

void takt_grad_of_choice(takt_graph *g, takt_id id, takt_id dy, bool greater, takt_id *dx)
{
    const takt_id a = takt_node_at(g, id)->in[0], b = takt_node_at(g, id)->in[1];
    const takt_id less = takt_binary(g, &takt_op_lt, a, b);
    const takt_id more = takt_binary(g, &takt_op_lt, b, a);
    const takt_id tie = takt_binary(g, &takt_op_eq, a, b);
    const takt_id share = takt_keep_where(g, tie, takt_mul_scalar(g, dy, 0.5));
    dx[0] = takt_sum_to(g, takt_select(g, greater ? more : less, dy, share), a);
    dx[1] = takt_sum_to(g, takt_select(g, greater ? less : more, dy, share), b);
}

void takt_cost_of_input(const takt_graph *g, const takt_node *n, double flops, takt_cost *cost)
{
    size_t count = 0, bytes = 0;
    cost->bytes = 0;
    cost->flops = takt_type_count(takt_type_of(g, n->in[0]), &count) ? flops * (double)count : 0;
    for (uint32_t i = 0; i < n->in_count; i++)
        if (n->in[i] != TAKT_NONE && takt_type_bytes(takt_type_of(g, n->in[i]), &bytes))
            cost->bytes += (double)bytes;
    for (uint32_t i = 0; i < n->out_count; i++)
        if (takt_type_bytes(&n->type[i], &bytes))
            cost->bytes += (double)bytes;
}
