/* reduce_strength.c - cheaper arithmetic for the same value.
 *
 * Powers become products and roots, which round once where pow may be off by two units in the last
 * place: docs/numerics.md, "Powers". The other rules are exact.
 */
#include <math.h>

#include "op/util/conv.h"
#include "pass/match.h"
#include "pass/passes.h"

static bool is_float(const takt_node *n)
{
    return takt_dtype_is_float(n->type->dtype);
}

/* x ^ c with the exponent a scalar, so that nothing broadcasts. */
static bool is_power(takt_rewrite *r, const takt_node *n, double exponent)
{
    return is_float(n) && takt_match_value(r->out, n->in[1], exponent) &&
           takt_match_type(r->out, n->in[0], n->type);
}

static takt_id itself(takt_rewrite *r, const takt_node *n)
{
    return is_power(r, n, 1.0) ? n->in[0] : TAKT_NONE;
}

static takt_id square(takt_rewrite *r, const takt_node *n)
{
    return is_power(r, n, 2.0) ? takt_mul(r->out, n->in[0], n->in[0]) : TAKT_NONE;
}

/* Rounded twice, so off by less than 1.5 units in the last place; in 16 bits that would show. */
static takt_id cube(takt_rewrite *r, const takt_node *n)
{
    const takt_dtype dtype = n->type->dtype;
    if ((dtype != TAKT_F32 && dtype != TAKT_F64) || !is_power(r, n, 3.0))
        return TAKT_NONE;
    return takt_mul(r->out, takt_mul(r->out, n->in[0], n->in[0]), n->in[0]);
}

static takt_id inverse(takt_rewrite *r, const takt_node *n)
{
    if (!is_power(r, n, -1.0))
        return TAKT_NONE;
    return takt_div(r->out, takt_scalar_like(r->out, n->in[0], 1.0), n->in[0]);
}

/* pow(-inf, 0.5) is +inf and pow(-0, 0.5) is +0, where sqrt gives NaN and -0: sqrt(x + 0) fixes the
 * zero, and the infinity is in the licence. */
static takt_id root(takt_rewrite *r, const takt_node *n)
{
    if (!is_power(r, n, 0.5))
        return TAKT_NONE;
    return takt_unary(r->out, &takt_op_sqrt, takt_add_scalar(r->out, n->in[0], 0.0));
}

/* The exact reciprocal of a power of two that stays a normal number. */
static bool power_of_two(takt_rewrite *r, const takt_node *n, double *reciprocal)
{
    const takt_node *c = takt_match_op(r->out, n->in[1], &takt_op_constant);
    if (c == NULL || !takt_match_is_scalar(r->out, n->in[1]))
        return false;
    const double value = takt_dtype_get_f(c->type->dtype, takt_tensor_data(c->attr[0].tensor), 0);
    int exponent;
    if (!isfinite(value) || fabs(frexp(value, &exponent)) != 0.5 || exponent < -12 || exponent > 14)
        return false;
    *reciprocal = 1 / value;
    return true;
}

static takt_id divide_by_two(takt_rewrite *r, const takt_node *n)
{
    double reciprocal;
    if (!is_float(n) || !takt_match_type(r->out, n->in[0], n->type) ||
        !power_of_two(r, n, &reciprocal))
        return TAKT_NONE;
    if (reciprocal == 1)
        return TAKT_NONE; /* fold-identity's */
    return takt_mul_scalar(r->out, n->in[0], reciprocal);
}

/* An extreme of one element is the element. */
static takt_id reduce_one(takt_rewrite *r, const takt_node *n)
{
    const takt_type *type = takt_type_of(r->out, n->in[0]);
    const takt_attr *axes = takt_node_attr(n, "axes");
    for (uint32_t i = 0; i < axes->count; i++)
        if (type->dim[axes->i64s[i] < 0 ? axes->i64s[i] + type->rank : axes->i64s[i]] != 1)
            return TAKT_NONE;
    if (axes->count == 0 && !takt_match_is_scalar(r->out, n->in[0]))
        return TAKT_NONE;
    return takt_reshape(r->out, n->in[0], n->type->dim, (size_t)n->type->rank);
}

/* Each input channel makes m > 1 outputs: repeated m times it is a depthwise convolution. */
static takt_id repeat_channels(takt_rewrite *r, const takt_node *n)
{
    takt_graph *g = r->out;
    const takt_type x = *takt_type_of(g, n->in[0]), *w = takt_type_of(g, n->in[1]);
    const int64_t groups = n->attr[TAKT_CONV_GROUPS].i64;
    const int last = x.rank - 1;
    if (n->attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC || groups < 2 || x.rank >= TAKT_MAX_RANK ||
        !takt_dim_is_number(w->dim[0]) || x.dim[last] != groups || w->dim[0] <= groups ||
        w->dim[last] != 1)
        return TAKT_NONE;
    takt_dim apart[TAKT_MAX_RANK], many[TAKT_MAX_RANK], joined[TAKT_MAX_RANK];
    for (int d = 0; d <= last; d++)
        apart[d] = many[d] = joined[d] = x.dim[d];
    apart[x.rank] = 1;
    many[x.rank] = w->dim[0] / groups;
    joined[last] = w->dim[0];
    const takt_id split = takt_reshape(g, n->in[0], apart, (size_t)x.rank + 1);
    const takt_id copies = takt_broadcast(g, split, many, (size_t)x.rank + 1);
    const takt_id in[] = {takt_reshape(g, copies, joined, (size_t)x.rank), n->in[1]};
    takt_attr attr[TAKT_CONV_LAYOUT + 1];
    for (int i = 0; i <= TAKT_CONV_LAYOUT; i++)
        attr[i] = n->attr[i];
    attr[TAKT_CONV_GROUPS] = takt_attr_i64(joined[last]);
    return takt_graph_append(g, n->op, 2, in, attr);
}

/* The gradient of silu(x) reads sigmoid(x): the two share it, with the same bits. */
static takt_id share_sigmoid(takt_rewrite *r, const takt_node *n)
{
    const takt_id x = r->in->nodes[r->id].in[0];
    if (takt_match_single(r, 0)) /* most are: long graphs are not searched for each of them */
        return TAKT_NONE;
    for (size_t i = (size_t)x + 1; i < r->in->count; i++) {
        const takt_node *other = &r->in->nodes[i];
        if (other->op == &takt_op_sigmoid && other->in[0] == x)
            return takt_mul(r->out, n->in[0], takt_unary(r->out, &takt_op_sigmoid, n->in[0]));
    }
    return TAKT_NONE;
}

static const takt_rule rules[] = {
    {&takt_op_conv, "conv with m outputs a channel = depthwise of each channel m times",
     repeat_channels},
    {&takt_op_pow, "x ^ 1 = x", itself},
    {&takt_op_pow, "x ^ 2 = x * x", square},
    {&takt_op_pow, "x ^ 3 = x * x * x", cube},
    {&takt_op_pow, "x ^ -1 = 1 / x", inverse},
    {&takt_op_pow, "x ^ 0.5 = sqrt(x)", root},
    {&takt_op_div, "x / 2^n = x * 2^-n", divide_by_two},
    {&takt_op_silu, "silu(x) next to sigmoid(x) = x * sigmoid(x)", share_sigmoid},
    {&takt_op_reduce_max, "max of one element = x", reduce_one},
    {&takt_op_reduce_min, "min of one element = x", reduce_one},
};

const takt_pass takt_pass_reduce_strength = {
    .name = "reduce-strength",
    .summary = "cheaper arithmetic for the same value",
    .licence = "Powers",
    TAKT_RULES(rules),
};
