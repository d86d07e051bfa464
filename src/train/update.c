/* update.c - from gradients to new weights: sums over shards, clipping, optimisers, averages. */
#include <stdio.h>

#include "op/util/formula.h"
#include "train/builder.h"

typedef takt_step_builder builder;
typedef takt_step_param param;

/* ---- state ---- */

static takt_id scalar_input(builder *b, const char *name, takt_dtype dtype)
{
    const takt_type type = {.dtype = dtype};
    return takt_graph_input(b->g, name, &type);
}

static const char *slot_name(builder *b, const char *prefix, const char *kind, const char *of)
{
    const char *name =
        takt_arena_format(&b->g->arena, "%s%s%s%s", prefix, kind, kind[0] != '\0' ? "/" : "", of);
    if (name == NULL)
        takt_graph_fail(b->g, TAKT_ERR_MEMORY);
    return name;
}

static takt_id new_slot(builder *b, const char *name, const takt_type *type)
{
    const takt_init zeros = {.kind = TAKT_INIT_CONSTANT};
    return name != NULL ? takt_graph_slot(b->g, name, type, &zeros, false) : TAKT_NONE;
}

/* The value after the step, or the old one if the step must not count. */
static takt_id guarded(builder *b, takt_id next, takt_id old, bool only_applied)
{
    takt_id condition = b->is_good;
    if (only_applied && b->apply != TAKT_NONE)
        condition = takt_binary(b->g, &takt_op_and, condition, b->apply);
    if (only_applied && b->fits != TAKT_NONE)
        condition = takt_binary(b->g, &takt_op_and, condition, b->fits);
    if (only_applied && b->has_labels != TAKT_NONE)
        condition = takt_binary(b->g, &takt_op_and, condition, b->has_labels);
    return takt_select(b->g, condition, next, old);
}

/* Gradients of the shards so far, summed; the run that applies them resets them to zero. */
static takt_id accumulated(builder *b, const char *name, takt_id value)
{
    takt_graph *g = b->g;
    const takt_type type = *takt_type_of(g, value);
    const char *slot = slot_name(b, TAKT_STEP_GRAD, "", name);
    const takt_id old = new_slot(b, slot, &type);
    const takt_id sum = takt_add(g, old, value);
    const takt_id zero = takt_scalar_like(g, sum, 0);
    if (slot != NULL)
        takt_graph_set_next(g, slot, guarded(b, takt_select(g, b->apply, zero, sum), old, false));
    return sum;
}

/* ---- clipping ---- */

/* All gradients together have the norm sqrt(sum of squares, in the order of the parameters). */
static void clip_by_norm(builder *b)
{
    takt_graph *g = b->g;
    takt_id sum = TAKT_NONE;
    for (size_t i = 0; i < b->count; i++) {
        const takt_id wide = takt_cast(g, b->params[i].grad, TAKT_F32);
        const takt_id own = takt_reduce_over(g, &takt_op_reduce_sum_square, wide, NULL, 0, false);
        sum = sum == TAKT_NONE ? own : takt_add(g, sum, own);
    }
    const takt_id norm = takt_unary(g, &takt_op_sqrt, sum);
    const takt_id limit = takt_scalar_like(g, norm, b->spec->clip_norm);
    const takt_id ratio = takt_div(g, limit, takt_add_scalar(g, norm, 1e-6));
    const takt_id factor = takt_binary(g, &takt_op_min, ratio, takt_scalar_like(g, ratio, 1));
    for (size_t i = 0; i < b->count; i++) {
        const takt_dtype dtype = takt_type_of(g, b->params[i].grad)->dtype;
        b->params[i].grad = takt_mul(g, b->params[i].grad, takt_cast(g, factor, dtype));
    }
    takt_graph_output(g, TAKT_STEP_NORM, norm);
}

/* ---- the update ---- */

static void average(builder *b, const param *p, takt_id next)
{
    takt_graph *g = b->g;
    const takt_type type = *takt_type_of(g, p->weight);
    const char *name = slot_name(b, TAKT_STEP_EMA, "", p->name);
    const takt_id old = new_slot(b, name, &type);
    const takt_id change = takt_mul(g, takt_sub(g, next, old), takt_cast(g, b->fresh, type.dtype));
    const takt_id mean = takt_add(g, old, change);
    if (name != NULL)
        takt_graph_set_next(g, name, guarded(b, mean, old, true));
}

const char *takt_step_scalar(const char *name, size_t group, char to[static TAKT_STEP_NAME])
{
    if (group == 0)
        snprintf(to, TAKT_STEP_NAME, "train.%s", name);
    else
        snprintf(to, TAKT_STEP_NAME, "train.%s.%zu", name, group);
    return to;
}

/* A number that the trainer passes at every step, or a fixed one. */
static takt_id given(builder *b, const char *name, size_t group, const double *fixed)
{
    char text[TAKT_STEP_NAME];
    return fixed != NULL ? takt_scalar_like(b->g, b->site.sum, *fixed)
                         : scalar_input(b, takt_step_scalar(name, group, text), TAKT_F32);
}

static takt_status scalars(builder *b)
{
    const takt_optimizer *o = b->spec->optimizer;
    const double *rate = b->spec->fixed_rate, *fixed = b->spec->fixed_scalars;
    const size_t groups = b->spec->group_count + 1;
    b->rate = takt_arena_array(&b->g->arena, groups, sizeof *b->rate);
    b->scalar = takt_arena_array(&b->g->arena, groups, sizeof *b->scalar);
    if (b->rate == NULL || b->scalar == NULL)
        return TAKT_ERR_MEMORY;
    b->fresh = b->spec->ema == 0 ? TAKT_NONE
               : rate != NULL    ? takt_scalar_like(b->g, b->site.sum, 1 - b->spec->ema)
                                 : scalar_input(b, TAKT_STEP_AVERAGE, TAKT_F32);
    for (size_t k = 0; k < groups; k++) {
        b->rate[k] = given(b, "rate", k, rate != NULL ? &rate[k] : NULL);
        for (size_t i = 0; i < TAKT_OPT_SCALARS && o->scalars[i] != NULL; i++)
            b->scalar[k][i] =
                given(b, o->scalars[i], k, rate != NULL ? &fixed[k * TAKT_OPT_SCALARS + i] : NULL);
    }
    return b->g->status;
}

/* The group of the parameter, counted from 1; 0: none. */
static size_t group_of(const builder *b, const char *name)
{
    const takt_step_spec *spec = b->spec;
    for (size_t i = 0; i < spec->group_count; i++)
        if (spec->groups[i].takes(spec->groups[i].user, name))
            return i + 1;
    return 0;
}

static void update(builder *b, const param *p)
{
    takt_graph *g = b->g;
    const takt_optimizer *o = b->spec->optimizer;
    const takt_dtype dtype = takt_type_of(g, p->weight)->dtype;
    const char *names[TAKT_OPT_SLOTS] = {0};
    const size_t group = group_of(b, p->name);
    const double *hyper = group > 0 ? b->spec->groups[group - 1].hyper : b->spec->hyper;
    takt_update u = {.g = g,
                     .hyper = hyper,
                     .rate = takt_cast(g, b->rate[group], dtype),
                     .weight = p->weight,
                     .grad = p->grad};
    for (size_t i = 0; i < TAKT_OPT_SCALARS && o->scalars[i] != NULL; i++)
        u.scalar[i] = takt_cast(g, b->scalar[group][i], dtype);
    for (size_t i = 0; i < TAKT_OPT_SLOTS; i++) {
        takt_type type = *takt_type_of(g, p->weight);
        const char *kind = o->slot(hyper, i, &type);
        if (kind == NULL)
            break;
        names[i] = slot_name(b, TAKT_STEP_SLOT, kind, p->name);
        u.slot[i] = new_slot(b, names[i], &type);
    }
    const takt_id next = guarded(b, o->update(&u), p->weight, true);
    for (size_t i = 0; i < TAKT_OPT_SLOTS && names[i] != NULL; i++)
        takt_graph_set_next(g, names[i], guarded(b, u.next[i], u.slot[i], true));
    takt_graph_set_next(g, p->name, next);
    if (b->spec->ema > 0)
        average(b, p, next);
}

/* States of the model itself keep their value when the loss is not finite. */
static void guard_states(builder *b)
{
    for (size_t i = 0; i < b->g->slot_count; i++) {
        takt_slot *slot = &b->g->slots[i];
        if (slot->next != TAKT_NONE && slot->next != slot->value)
            takt_graph_set_next(b->g, slot->name, guarded(b, slot->next, slot->value, false));
    }
}

takt_status takt_step_append_update(builder *b)
{
    takt_graph *g = b->g;
    if (b->spec->accumulates)
        b->apply = b->spec->fixed_rate != NULL ? takt_scalar_like(g, b->is_good, 1)
                                               : scalar_input(b, TAKT_STEP_APPLY, TAKT_BOOL);
    else
        b->apply = TAKT_NONE;
    guard_states(b);
    TAKT_TRY(scalars(b));
    takt_id count = b->site.count;
    if (b->spec->accumulates) {
        count = accumulated(b, "count", count);
        for (size_t i = 0; i < b->count; i++)
            b->params[i].grad = accumulated(b, b->params[i].name, b->params[i].grad);
    }
    b->has_labels = b->site.may_be_empty ? takt_is_above(g, count, 0) : TAKT_NONE;
    takt_step_end_scale(b);
    if (b->scale != TAKT_NONE)
        count = takt_mul(g, count, b->scale);
    for (size_t i = 0; i < b->count; i++) {
        const takt_dtype dtype = takt_type_of(g, b->params[i].grad)->dtype;
        b->params[i].grad = takt_div(g, b->params[i].grad, takt_cast(g, count, dtype));
    }
    const double limit = b->spec->clip_value;
    for (size_t i = 0; i < b->count && limit > 0; i++)
        b->params[i].grad = takt_clamp(g, b->params[i].grad, -limit, limit);
    if (b->spec->clip_norm > 0)
        clip_by_norm(b);
    for (size_t i = 0; i < b->count; i++)
        update(b, &b->params[i]);
    return g->status;
}
