/* match_bytes.c - recognising the product of a state that is quantised in every iteration.
 *
 * The state's range, extended to 0, gives 255 steps, as in ONNX's DynamicQuantizeLinear; bytes.c
 * computes the same.
 */
#include "backend/cpu/rnn/sum.h"

#include "op/util/integer.h"

/* `op` of something and the number `by`, sides in any order; returns that something. */
static takt_id with_number(const takt_rnn_matcher *x, takt_id id, const takt_op *op, double by)
{
    const takt_node *n = takt_rnn_node(x, id, op);
    double value;
    for (int k = 0; n != NULL && k < 2; k++)
        if (takt_rnn_scalar(x, n->in[1 - k], &value) && value == by)
            return n->in[k];
    return TAKT_NONE;
}

/* The extreme of all elements of the state, or 0. */
static bool is_extreme(const takt_rnn_matcher *x, takt_id id, const takt_op *bound,
                       const takt_op *reduce)
{
    const takt_node *n = takt_rnn_node(x, with_number(x, id, bound, 0), reduce);
    return n != NULL && n->in[0] == x->h && n->type->rank == 0;
}

/* (high - low) / 255; `low` is set. */
static bool is_scale(const takt_rnn_matcher *x, takt_id id, takt_id *low)
{
    double steps;
    const takt_node *n = takt_rnn_node(x, id, &takt_op_div);
    if (n == NULL || !takt_rnn_scalar(x, n->in[1], &steps) || steps != 255)
        return false;
    const takt_node *range = takt_rnn_node(x, n->in[0], &takt_op_sub);
    if (range == NULL || !is_extreme(x, range->in[0], &takt_op_max, &takt_op_reduce_max) ||
        !is_extreme(x, range->in[1], &takt_op_min, &takt_op_reduce_min))
        return false;
    *low = range->in[1];
    return true;
}

/* -low / scale, rounded, from 0 to 255, as a byte. */
static bool is_zero(const takt_rnn_matcher *x, takt_id id, takt_id low, takt_id scale)
{
    const takt_node *byte = takt_rnn_node(x, id, &takt_op_cast);
    if (byte == NULL || byte->type->dtype != TAKT_U8)
        return false;
    const takt_id raised = with_number(x, byte->in[0], &takt_op_min, 255);
    const takt_node *round =
        takt_rnn_node(x, with_number(x, raised, &takt_op_max, 0), &takt_op_round);
    const takt_node *neg = round == NULL ? NULL : takt_rnn_node(x, round->in[0], &takt_op_neg);
    const takt_node *div = neg == NULL ? NULL : takt_rnn_node(x, neg->in[0], &takt_op_div);
    return div != NULL && div->in[0] == low && div->in[1] == scale;
}

static takt_id in_of(const takt_node *n, uint32_t which)
{
    return which < n->in_count ? n->in[which] : TAKT_NONE;
}

/* The state in levels with the scale and zero point of its range; these are set. */
static bool is_state(const takt_rnn_matcher *x, takt_id id, takt_id *scale, takt_id *zero)
{
    takt_id low;
    const takt_node *n = takt_rnn_node(x, id, &takt_op_quantize);
    if (n == NULL || n->in[0] != x->h || n->type->dtype != TAKT_U8)
        return false;
    *scale = n->in[1];
    *zero = in_of(n, 2);
    return *zero != TAKT_NONE && is_scale(x, *scale, &low) && is_zero(x, *zero, low, *scale);
}

/* `scale` times an input, which is the scale of r. */
static bool is_product_scale(takt_rnn_matcher *x, takt_id id, takt_id scale)
{
    const takt_node *n = takt_rnn_node(x, id, &takt_op_mul);
    for (int k = 0; n != NULL && k < 2; k++)
        if (n->in[k] == scale)
            return takt_rnn_settle(&x->m.r_scale, takt_rnn_input(x, n->in[1 - k]));
    return false;
}

bool takt_rnn_is_bytes_product(takt_rnn_matcher *x, takt_id id)
{
    const takt_node *n = &x->g->nodes[id];
    const takt_id r_zero = in_of(n, TAKT_INTEGER_B_ZERO);
    takt_id scale, zero;
    if (n->type->dtype != TAKT_F32 || in_of(n, TAKT_INTEGER_BIAS) != TAKT_NONE ||
        in_of(n, TAKT_INTEGER_SHIFT) != TAKT_NONE ||
        !is_state(x, n->in[TAKT_INTEGER_A], &scale, &zero) ||
        in_of(n, TAKT_INTEGER_A_ZERO) != zero ||
        !is_product_scale(x, in_of(n, TAKT_INTEGER_SCALE), scale))
        return false;
    x->m.is_bytes = true;
    return takt_rnn_settle(&x->m.r, takt_rnn_weight(x, n->in[TAKT_INTEGER_B])) &&
           x->m.r >= TAKT_RNN_INNER && /* it is packed when the plan is made */
           (r_zero == TAKT_NONE ? x->m.r_zero < 0
                                : takt_rnn_settle(&x->m.r_zero, takt_rnn_input(x, r_zero)));
}

/* One number, or one for each column. */
static bool is_parameter(const takt_rnn_matcher *x, int number, int rest)
{
    if (number < rest)
        return false;
    const takt_type *t = takt_type_of(x->g, x->g->inputs[number].id);
    return t->rank == 0 || (t->rank == 1 && (size_t)t->dim[0] == x->m.gates * x->m.units);
}

bool takt_rnn_bytes_fit(const takt_rnn_matcher *x, int rest)
{
    return is_parameter(x, x->m.r_scale, rest) &&
           (x->m.r_zero < 0 || is_parameter(x, x->m.r_zero, rest));
}
