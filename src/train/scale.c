/* scale.c - the loss scale of f16, whose smallest numbers are above many gradients.
 *
 * Gradients are those of the loss times the scale, and are divided by it, in f32, before they are
 * used. If one of them is not finite the step changes no weight and the scale is halved; after many
 * good steps it is doubled. All scales are powers of two, so that they cost no bit of a
 * gradient. */
#include "op/util/formula.h"
#include "train/builder.h"

typedef takt_step_builder builder;

static takt_id scalar_slot(builder *b, const char *name, double start)
{
    const takt_type type = {.dtype = TAKT_F32};
    const takt_init init = {.kind = TAKT_INIT_CONSTANT, .a = start};
    return takt_graph_slot(b->g, name, &type, &init, false);
}

takt_status takt_step_begin_scale(builder *b)
{
    b->scale = b->fits = TAKT_NONE;
    if (b->spec->has_amp && b->spec->amp == TAKT_F16) {
        b->scale = scalar_slot(b, TAKT_STEP_SCALE_SLOT, TAKT_SCALE_START);
        takt_graph_output(b->g, TAKT_STEP_SCALE, b->scale);
    }
    return b->g->status;
}

/* The gradient as it was computed: in 16 bits, if it was only widened for the update. */
static takt_id computed(const takt_graph *g, takt_id grad)
{
    const takt_node *n = takt_node_at(g, grad);
    const bool is_widened = n->op == &takt_op_cast && n->type->dtype == TAKT_F32 &&
                            takt_dtype_is_float(takt_type_of(g, n->in[0])->dtype) &&
                            takt_dtype_bits(takt_type_of(g, n->in[0])->dtype) == 16;
    return is_widened ? n->in[0] : grad;
}

static takt_id extreme(takt_graph *g, const takt_op *op, takt_id x)
{
    return takt_cast(g, takt_reduce_over(g, op, x, NULL, 0, false), TAKT_F32);
}

/* The largest and the smallest element, which need no copy of the gradient, as absolute values
 * would. NaN is both: it is not below anything. */
static takt_id all_finite(builder *b)
{
    takt_graph *g = b->g;
    takt_id all = TAKT_NONE;
    for (size_t i = 0; i < b->count; i++) {
        const takt_id grad = computed(g, b->params[i].grad);
        const takt_id most = extreme(g, &takt_op_reduce_max, grad);
        const takt_id least = takt_unary(g, &takt_op_neg, extreme(g, &takt_op_reduce_min, grad));
        const takt_id own = takt_binary(g, &takt_op_and, takt_is_below(g, most, 3e38),
                                        takt_is_below(g, least, 3e38));
        all = all == TAKT_NONE ? own : takt_binary(g, &takt_op_and, all, own);
    }
    return all;
}

/* `next`, unless this run only adds to the gradients. */
static takt_id if_applied(builder *b, takt_id next, takt_id old)
{
    takt_id condition = b->is_good;
    if (b->apply != TAKT_NONE)
        condition = takt_binary(b->g, &takt_op_and, condition, b->apply);
    return takt_select(b->g, condition, next, old);
}

void takt_step_end_scale(builder *b)
{
    takt_graph *g = b->g;
    if (b->scale == TAKT_NONE && !b->spec->skips_bad)
        return;
    b->fits = all_finite(b);
    takt_graph_output(g, TAKT_STEP_FITS, takt_cast(g, b->fits, TAKT_F32));
    if (b->scale == TAKT_NONE)
        return;
    const takt_id steps = scalar_slot(b, TAKT_STEP_SCALE_STEPS, 0);
    const takt_id zero = takt_scalar_like(g, steps, 0);
    const takt_id more = takt_add_scalar(g, steps, 1);
    const takt_id waits = takt_is_below(g, more, TAKT_SCALE_GROWTH);
    const takt_id up = takt_clamp(g, takt_mul_scalar(g, b->scale, 2), 0, TAKT_SCALE_MOST);
    const takt_id down = takt_mul_scalar(g, b->scale, 0.5);
    const takt_id good = takt_select(g, waits, b->scale, up);
    const takt_id next = takt_select(g, b->fits, good, down);
    const takt_id count = takt_select(g, takt_binary(g, &takt_op_and, b->fits, waits), more, zero);
    takt_graph_set_next(g, TAKT_STEP_SCALE_SLOT, if_applied(b, next, b->scale));
    takt_graph_set_next(g, TAKT_STEP_SCALE_STEPS, if_applied(b, count, steps));
}
