/* fold_identity.c - remove arithmetic that cannot change its operand.
 *
 * Exact rules only: x + 0 is not removed for floats, since -0 + 0 is +0, but x + -0 and x - 0 are;
 * x * 0 is not 0 if x is infinite or NaN, so it is folded only for integers. */
#include "pass/match.h"
#include "pass/passes.h"

/* The operand, unless the other one made the result larger. */
static takt_id keep(takt_rewrite *r, const takt_node *n, takt_id x)
{
    if (takt_match_type(r->out, x, n->type))
        return x;
    return takt_refuse(r, n, "the other operand broadcasts it");
}

static bool is_float(const takt_node *n)
{
    return takt_dtype_is_float(n->type->dtype);
}

static takt_id add_zero(takt_rewrite *r, const takt_node *n)
{
    if (is_float(n) && takt_match_value(r->out, n->in[1], 0.0))
        return takt_refuse(r, n, "-0 + 0 is +0");
    if (!takt_match_value(r->out, n->in[1], is_float(n) ? -0.0 : 0.0))
        return TAKT_NONE;
    return keep(r, n, n->in[0]);
}

static takt_id sub_zero(takt_rewrite *r, const takt_node *n)
{
    return takt_match_value(r->out, n->in[1], 0.0) ? keep(r, n, n->in[0]) : TAKT_NONE;
}

static takt_id by_one(takt_rewrite *r, const takt_node *n)
{
    return takt_match_value(r->out, n->in[1], 1.0) ? keep(r, n, n->in[0]) : TAKT_NONE;
}

static takt_id mul_zero(takt_rewrite *r, const takt_node *n)
{
    if (!takt_match_value(r->out, n->in[1], 0.0))
        return TAKT_NONE;
    if (is_float(n))
        return takt_refuse(r, n, "infinity * 0 is NaN");
    return takt_match_type(r->out, n->in[1], n->type)
               ? n->in[1]
               : takt_broadcast(r->out, n->in[1], n->type->dim, (size_t)n->type->rank);
}

static takt_id mul_minus_one(takt_rewrite *r, const takt_node *n)
{
    if (!takt_match_value(r->out, n->in[1], -1.0) || takt_dtype_is_unsigned(n->type->dtype))
        return TAKT_NONE;
    const takt_id x = keep(r, n, n->in[0]);
    return x == TAKT_NONE ? TAKT_NONE : takt_neg(r->out, x);
}

static takt_id with_itself(takt_rewrite *r, const takt_node *n)
{
    (void)r;
    return n->in[0] == n->in[1] ? n->in[0] : TAKT_NONE;
}

static takt_id same_choice(takt_rewrite *r, const takt_node *n)
{
    return n->in[1] == n->in[2] ? keep(r, n, n->in[1]) : TAKT_NONE;
}

static takt_id known_choice(takt_rewrite *r, const takt_node *n)
{
    if (takt_match_value(r->out, n->in[0], 1.0))
        return keep(r, n, n->in[1]);
    return takt_match_value(r->out, n->in[0], 0.0) ? keep(r, n, n->in[2]) : TAKT_NONE;
}

static takt_id put_nothing(takt_rewrite *r, const takt_node *n)
{
    const takt_type *part = takt_type_of(r->out, n->in[1]);
    for (int d = 0; d < part->rank; d++)
        if (part->dim[d] == 0)
            return n->in[0];
    return TAKT_NONE;
}

/* Integers only: a sum of floats begins with +0, which -0 does not survive. */
static takt_id of_one(takt_rewrite *r, const takt_node *n)
{
    const takt_type *x = takt_type_of(r->out, n->in[0]);
    size_t before, after;
    if (x->dtype != n->type->dtype || !takt_type_count(x, &before) ||
        !takt_type_count(n->type, &after) || before != after)
        return TAKT_NONE;
    if (is_float(n))
        return takt_refuse(r, n, "0 + -0 is +0");
    return takt_reshape(r->out, n->in[0], n->type->dim, (size_t)n->type->rank);
}

/* A slice up to a named size is a gather; sizes that are the same may be known only later. */
static takt_id gather_all(takt_rewrite *r, const takt_node *n)
{
    const takt_node *index = takt_match_op(r->out, n->in[1], &takt_op_iota);
    const bool counts = index != NULL && index->type->rank == 1 && index->type->dtype == TAKT_I64;
    return counts && takt_match_type(r->out, n->in[0], n->type) ? n->in[0] : TAKT_NONE;
}

static const takt_rule rules[] = {
    {&takt_op_add, "x + 0 = x", add_zero},
    {&takt_op_sub, "x - 0 = x", sub_zero},
    {&takt_op_mul, "x * 1 = x", by_one},
    {&takt_op_div, "x / 1 = x", by_one},
    {&takt_op_mul, "x * 0 = 0 for integers", mul_zero},
    {&takt_op_mul, "x * -1 = -x", mul_minus_one},
    {&takt_op_min, "min(x, x) = x", with_itself},
    {&takt_op_max, "max(x, x) = x", with_itself},
    {&takt_op_and, "x and x = x", with_itself},
    {&takt_op_or, "x or x = x", with_itself},
    {&takt_op_select, "c ? x : x = x", same_choice},
    {&takt_op_select, "true ? x : y = x", known_choice},
    {&takt_op_update_slice, "x with nothing put in = x", put_nothing},
    {&takt_op_reduce_sum, "the sum of one integer = it", of_one},
    {&takt_op_gather, "gather(x, [0, 1, ...]) = x", gather_all},
};

const takt_pass takt_pass_fold_identity = {
    .name = "fold-identity",
    .summary = "remove arithmetic that cannot change its operand",
    TAKT_RULES(rules),
};
