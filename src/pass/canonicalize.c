/* canonicalize.c - one spelling of everything, so that later rules need only one form.
 *
 * No rule changes a bit of a result: swapping the inputs of a commutative operation may change
 * which NaN comes out, and all NaNs count as equal. */
#include "pass/match.h"
#include "pass/passes.h"

static takt_id constant_right(takt_rewrite *r, const takt_node *n)
{
    if ((n->op->traits & TAKT_COMMUTES) == 0 || n->in_count != 2)
        return TAKT_NONE;
    if (!takt_match_is_fixed(r->out, n->in[0]) || takt_match_is_fixed(r->out, n->in[1]))
        return TAKT_NONE;
    return takt_graph_append(r->out, n->op, 2, (const takt_id[]){n->in[1], n->in[0]}, n->attr);
}

static takt_id greater_than(takt_rewrite *r, const takt_node *n)
{
    return takt_binary(r->out, &takt_op_lt, n->in[1], n->in[0]);
}

static takt_id greater_equal(takt_rewrite *r, const takt_node *n)
{
    return takt_binary(r->out, &takt_op_le, n->in[1], n->in[0]);
}

/* f(f(x)) where f undoes itself. */
static takt_id twice(takt_rewrite *r, const takt_node *n)
{
    const takt_node *inner = takt_match_op(r->out, n->in[0], n->op);
    return inner != NULL ? inner->in[0] : TAKT_NONE;
}

/* f(f(x)) = f(x) */
static takt_id again(takt_rewrite *r, const takt_node *n)
{
    return takt_match_op(r->out, n->in[0], n->op) != NULL ? n->in[0] : TAKT_NONE;
}

/* Not for unsigned integers: there -x wraps to a large number, and |x| is x. */
static takt_id abs_neg(takt_rewrite *r, const takt_node *n)
{
    if (takt_dtype_is_unsigned(n->type->dtype))
        return TAKT_NONE;
    const takt_node *inner = takt_match_op(r->out, n->in[0], &takt_op_neg);
    return inner != NULL ? takt_unary(r->out, &takt_op_abs, inner->in[0]) : TAKT_NONE;
}

static takt_id cast_same(takt_rewrite *r, const takt_node *n)
{
    return takt_type_of(r->out, n->in[0])->dtype == n->type->dtype ? n->in[0] : TAKT_NONE;
}

/* Every value of `narrow` is one of `wide`. */
static bool holds(takt_dtype wide, takt_dtype narrow)
{
    if (wide == TAKT_F64)
        return narrow == TAKT_F32 || narrow == TAKT_F16 || narrow == TAKT_BF16;
    if (wide == TAKT_F32)
        return narrow == TAKT_F16 || narrow == TAKT_BF16;
    return takt_dtype_is_signed(wide) && takt_dtype_is_signed(narrow) &&
           takt_dtype_bits(wide) > takt_dtype_bits(narrow) && takt_dtype_bits(narrow) >= 8;
}

static takt_id cast_back(takt_rewrite *r, const takt_node *n)
{
    const takt_node *inner = takt_match_op(r->out, n->in[0], &takt_op_cast);
    if (inner == NULL)
        return TAKT_NONE;
    const takt_dtype from = takt_type_of(r->out, inner->in[0])->dtype;
    return from == n->type->dtype && holds(inner->type->dtype, from) ? inner->in[0] : TAKT_NONE;
}

/* squeeze, unsqueeze and flatten are reshapes. */
static takt_id as_reshape(takt_rewrite *r, const takt_node *n)
{
    takt_id out = TAKT_NONE;
    n->op->lower(r->out, n, &out);
    return out;
}

static const takt_rule rules[] = {
    {NULL, "f(c, x) = f(x, c) if f commutes", constant_right},
    {&takt_op_gt, "a > b = b < a", greater_than},
    {&takt_op_ge, "a >= b = b <= a", greater_equal},
    {&takt_op_neg, "-(-x) = x", twice},
    {&takt_op_not, "not not x = x", twice},
    {&takt_op_relu, "relu(relu(x)) = relu(x)", again},
    {&takt_op_abs, "||x|| = |x|", again},
    {&takt_op_abs, "|-x| = |x|", abs_neg},
    {&takt_op_cast, "cast to its own type = x", cast_same},
    {&takt_op_cast, "cast to a wider type and back = x", cast_back},
    {&takt_op_squeeze, "squeeze = reshape", as_reshape},
    {&takt_op_unsqueeze, "unsqueeze = reshape", as_reshape},
    {&takt_op_flatten, "flatten = reshape", as_reshape},
};

const takt_pass takt_pass_canonicalize = {
    .name = "canonicalize",
    .summary = "one spelling of everything",
    TAKT_RULES(rules),
};
