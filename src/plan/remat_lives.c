/* remat_lives.c - executions of a plan's steps and what is alive at each of them. */
#include "plan/remat_lives.h"

#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "op/ops.h"
#include "plan/finish.h"

typedef takt_remat_search search;
typedef takt_remat_value value;
typedef takt_remat_edges edges;

/* Attention computes exponentials between two products that are as deep as a head is wide: its rate
 * is a third of that of a large product. */
static double slowness(const takt_plan *plan, const takt_step *step)
{
    for (size_t i = 0; i < step->node_count; i++)
        if (plan->graph->nodes[step->nodes[i]].op == &takt_op_attention)
            return 3;
    return 1;
}

double takt_remat_time(const search *s, int step)
{
    const takt_step *t = &s->plan->steps[step];
    const takt_cost cost = takt_step_cost(s->plan, t);
    const double flops = cost.flops * slowness(s->plan, t) / s->machine->flops_per_us;
    const double bytes = cost.bytes / s->machine->bytes_per_us;
    return s->machine->step_us + (flops > bytes ? flops : bytes);
}

/* ---- what may be rematerialised ---- */

static bool fills(const takt_plan *plan, const takt_step *s)
{
    size_t bits = (size_t)takt_dtype_bits(s->out[0].dtype);
    for (int d = 0; d < s->out[0].rank; d++)
        bits *= (size_t)s->out[0].dim[d];
    return s->out[0].offset == 0 && bits / 8 == plan->buffers[s->out[0].buffer].bytes;
}

static bool may_repeat(const takt_plan *plan, const takt_step *s)
{
    return s->node_count > 0 && s->out_count == 1 && s->undo == NULL && !s->can_fault &&
           s->space == TAKT_HOST && s->transfer.way == TAKT_COPY_NONE && fills(plan, s);
}

static takt_status get_arrays(search *s)
{
    const takt_plan *plan = s->plan;
    const size_t most = 2 * plan->step_count;
    size_t views = 0;
    for (size_t i = 0; i < plan->step_count; i++)
        views += plan->steps[i].in_count + plan->steps[i].out_count;
    uint32_t *ids = takt_arena_array(s->memory, views, sizeof *ids);
    s->values = takt_arena_array(s->memory, plan->buffer_count + views, sizeof *s->values);
    s->edges = takt_arena_array(s->memory, plan->step_count, sizeof *s->edges);
    s->repeats = takt_arena_array(s->memory, plan->step_count, 1);
    s->run = takt_arena_array(s->memory, most, sizeof *s->run);
    s->is_remat = takt_arena_array(s->memory, most, 1);
    s->old_run = takt_arena_array(s->memory, most, sizeof *s->run);
    s->old_remat = takt_arena_array(s->memory, most, 1);
    s->live = takt_arena_array(s->memory, most + 1, sizeof *s->live);
    s->first_use =
        takt_arena_array(s->memory, plan->buffer_count + views + 2, sizeof *s->first_use);
    s->uses = takt_arena_array(s->memory, 2 * views, sizeof *s->uses);
    s->remat_at = takt_arena_array(s->memory, plan->step_count, sizeof *s->remat_at);
    if (ids == NULL || s->values == NULL || s->edges == NULL || s->repeats == NULL ||
        s->run == NULL || s->is_remat == NULL || s->old_run == NULL || s->old_remat == NULL ||
        s->live == NULL || s->first_use == NULL || s->uses == NULL || s->remat_at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan->step_count; i++) {
        s->edges[i] = (edges){ids, ids + plan->steps[i].in_count};
        ids += plan->steps[i].in_count + plan->steps[i].out_count;
    }
    return TAKT_OK;
}

static uint32_t new_value(search *s, size_t bytes)
{
    s->values[s->value_count] = (value){.bytes = bytes, .maker = -1, .over = -1};
    return (uint32_t)s->value_count++;
}

static bool reads(const takt_step *s, uint32_t buffer)
{
    for (size_t k = 0; k < s->in_count; k++)
        if (s->in[k].buffer == buffer)
            return true;
    return false;
}

/* The values of all steps; `now`: per buffer, its current value. */
static void number(search *s, uint32_t *now)
{
    const takt_plan *plan = s->plan;
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *step = &plan->steps[i];
        for (size_t k = 0; k < step->in_count; k++)
            s->edges[i].in[k] = now[step->in[k].buffer];
        for (size_t k = 0; k < step->out_count; k++) {
            uint32_t *id = &now[step->out[k].buffer];
            if (s->values[*id].writers > 0 && reads(step, step->out[k].buffer)) {
                s->values[*id].over = (int)i;
                *id = new_value(s, s->values[*id].bytes);
            }
            value *v = &s->values[*id];
            v->maker = v->writers++ == 0 && may_repeat(plan, step) ? (int)i : -1;
            s->edges[i].out[k] = *id;
        }
    }
}

takt_status takt_remat_survey(search *s)
{
    const takt_plan *plan = s->plan;
    uint32_t *now = takt_arena_array(s->memory, plan->buffer_count, sizeof *now);
    TAKT_TRY(now == NULL ? TAKT_ERR_MEMORY : get_arrays(s));
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        const bool is_here = b->place == TAKT_PLACE_ARENA && b->space == TAKT_HOST;
        now[i] = new_value(s, is_here ? takt_round_up(b->bytes, TAKT_ALIGN) : 0);
    }
    number(s, now);
    for (size_t i = 0; i < plan->step_count; i++) {
        s->run[i] = (int)i;
        s->time += takt_remat_time(s, (int)i);
    }
    s->count = plan->step_count;
    return TAKT_OK;
}

/* ---- lives ---- */

/* A value overwritten by its last reader makes room for the next value in that step. */
static void end_life(search *s, value *v)
{
    if (v->first < 0)
        return;
    const bool is_over = v->over >= 0 && s->run[v->last] == v->over && v->last > v->first;
    s->live[v->first] += (int64_t)v->bytes;
    s->live[is_over ? v->last : v->last + 1] -= (int64_t)v->bytes;
    v->first = -1;
}

static void touch(value *v, int at)
{
    v->first = v->first < 0 ? at : v->first;
    v->last = at;
}

/* Calls `each` for every value of every execution, in order. */
static void each_use(search *s, void (*each)(search *s, uint32_t id, int at))
{
    for (size_t i = 0; i < s->count; i++) {
        const takt_step *step = &s->plan->steps[s->run[i]];
        const edges *e = &s->edges[s->run[i]];
        for (size_t k = 0; k < step->in_count; k++)
            each(s, e->in[k], (int)i);
        for (size_t k = 0; k < step->out_count; k++)
            each(s, e->out[k], (int)i);
    }
}

static void count_use(search *s, uint32_t id, int at)
{
    (void)at;
    s->first_use[id + 2]++;
}

/* After this, first_use[id + 1] is where the uses of `id` end. */
static void list_use(search *s, uint32_t id, int at)
{
    s->uses[s->first_use[id + 1]++] = at;
}

static void list_uses(search *s)
{
    memset(s->first_use, 0, (s->value_count + 2) * sizeof *s->first_use);
    each_use(s, count_use);
    for (size_t i = 2; i < s->value_count + 2; i++)
        s->first_use[i] += s->first_use[i - 1];
    each_use(s, list_use);
    for (size_t i = 0; i < s->plan->step_count; i++)
        s->remat_at[i] = -1;
    for (size_t i = 0; i < s->count; i++)
        if (s->is_remat[i])
            s->remat_at[s->run[i]] = (int)i;
}

/* Bytes alive at every execution. */
void takt_remat_count(search *s)
{
    const takt_plan *plan = s->plan;
    list_uses(s);
    memset(s->live, 0, (s->count + 1) * sizeof *s->live);
    for (size_t i = 0; i < s->value_count; i++)
        s->values[i].first = -1;
    for (size_t i = 0; i < s->count; i++) {
        const takt_step *step = &plan->steps[s->run[i]];
        const edges *e = &s->edges[s->run[i]];
        for (size_t k = 0; k < step->in_count; k++)
            touch(&s->values[e->in[k]], (int)i);
        for (size_t k = 0; k < step->out_count; k++) {
            if (s->is_remat[i])
                end_life(s, &s->values[e->out[k]]);
            touch(&s->values[e->out[k]], (int)i);
        }
    }
    for (size_t i = 0; i < s->value_count; i++)
        end_life(s, &s->values[i]);
    for (size_t i = 0; i < s->count; i++)
        s->live[i + 1] += s->live[i];
    for (size_t i = 0; i < s->count; i++)
        s->live[i] += (int64_t)takt_step_scratch(&plan->steps[s->run[i]], plan->threads);
}

size_t takt_remat_fullest(const search *s)
{
    size_t at = 0;
    for (size_t i = 1; i < s->count; i++)
        if (s->live[i] > s->live[at])
            at = i;
    return at;
}

bool takt_remat_uses(const search *s, int at, uint32_t id)
{
    const takt_step *step = &s->plan->steps[s->run[at]];
    const edges *e = &s->edges[s->run[at]];
    for (size_t k = 0; k < step->in_count; k++)
        if (e->in[k] == id)
            return true;
    for (size_t k = 0; k < step->out_count; k++)
        if (e->out[k] == id)
            return true;
    return false;
}

/* The first of the uses of a value at `at` or later, as an index into `uses`. */
static uint32_t use_from(const search *s, uint32_t id, int at)
{
    uint32_t low = s->first_use[id], high = s->first_use[id + 1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->uses[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int takt_remat_next(const search *s, uint32_t id, int at)
{
    const uint32_t use = use_from(s, id, at);
    return use < s->first_use[id + 1] ? s->uses[use] : -1;
}

int takt_remat_last(const search *s, uint32_t id, int before)
{
    const uint32_t use = use_from(s, id, before);
    return use > s->first_use[id] ? s->uses[use - 1] : -1;
}
