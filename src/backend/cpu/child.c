/* child.c - running the plan of a subgraph inside a step. */
#include "backend/cpu/child.h"

#include "backend/cpu/pace.h"
#include "base/mem.h"
#include "base/size.h"
#include "plan/repeat.h"

takt_status takt_scratch_add(takt_planner *p, size_t bytes, size_t *at)
{
    if (takt_size_align(p->step->scratch_bytes, TAKT_ALIGN, at) &&
        takt_size_add(*at, bytes, &p->step->scratch_bytes))
        return TAKT_OK;
    return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a subgraph needs too much memory");
}

static size_t pointers(const takt_plan *plan)
{
    return plan->buffer_count + plan->graph->input_count + plan->graph->output_count;
}

takt_status takt_child_compile(takt_planner *p, const takt_graph *g, takt_child *child)
{
    takt_plan *made;
    TAKT_TRY(takt_planner_child(p, g, &made));
    *child = (takt_child){.plan = made};
    child->body = made->body;
    if (child->body != NULL)
        child->plan = takt_repeat_plan(child->body);
    const takt_plan *plan = child->plan;
    p->step->shares_pool |= plan->is_parallel;
    if (!takt_size_add(takt_cpu_aligned(pointers(plan) * sizeof(void *)) +
                           takt_cpu_aligned(sizeof(takt_fault_slot)),
                       made->arena_bytes, &child->bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a subgraph needs too much memory");
    return takt_scratch_add(p, child->bytes, &child->at);
}

takt_child_room takt_child_open(const takt_child *child, const takt_task *t)
{
    const takt_plan *plan = child->plan;
    unsigned char *memory = (unsigned char *)t->scratch + child->at;
    takt_child_room room = {.base = (void **)(void *)memory};
    room.in = (const void **)(void *)(room.base + plan->buffer_count);
    room.out = room.base + plan->buffer_count + plan->graph->input_count;
    memory += takt_cpu_aligned(pointers(plan) * sizeof(void *));
    room.fault = (takt_fault_slot *)(void *)memory;
    room.arena = memory + takt_cpu_aligned(sizeof(takt_fault_slot));
    return room;
}

static takt_error *error_of(const takt_child *child, const takt_task *t)
{
    return t->execution != NULL ? t->execution->error : &child->plan->ctx->error;
}

bool takt_child_begin(const takt_child *child, const takt_task *t)
{
    return child->body == NULL || takt_repeat_begin(child->body, t->poll);
}

void takt_child_end(const takt_child *child)
{
    if (child->body != NULL)
        takt_repeat_end(child->body);
}

static void note(const takt_task *t)
{
    takt_fault_merge(t->fault, &(takt_fault){.index = 0});
}

bool takt_child_run(const takt_child *child, const takt_child_room *room, const takt_task *t)
{
    takt_execution x = {.plan = child->plan,
                        .base = room->base,
                        .arena = room->arena,
                        .pool = t->pool,
                        .is_leased = true,
                        .fault = room->fault,
                        .error = error_of(child, t)};
    if (t->execution != NULL) {
        x.cancel = t->execution->cancel;
        x.run = t->execution->run;
        x.deadline_ns = t->execution->deadline_ns;
    }
    const void *const *in = room->in;
    void *const *out = room->out;
    if (child->body == NULL)
        takt_repeat_bind(child->plan, room->arena, in, out, room->base);
    const takt_status status = child->body == NULL
                                   ? takt_execute(&x)
                                   : takt_repeat_iterate(child->body, &x, room->base, in, out);
    if (status == TAKT_OK)
        return true;
    note(t);
    return false;
}

void takt_child_fail(const takt_child *child, const takt_task *t, takt_error_id id,
                     const char *what, uint64_t number)
{
    takt_error_set(error_of(child, t), id, "%s (%llu)", what, (unsigned long long)number);
    note(t);
}

/* ---- lanes ---- */

takt_status takt_lane_compile(takt_planner *p, const takt_view *v, int64_t axis, takt_lane *lane)
{
    axis += axis < 0 ? v->rank : 0;
    *lane = (takt_lane){.outer = 1, .inner = 1, .bits = takt_dtype_bits(v->dtype)};
    lane->size = (size_t)v->dim[axis];
    for (int d = 0; d < v->rank; d++)
        *(d < axis ? &lane->outer : &lane->inner) *= d == axis ? 1 : (size_t)v->dim[d];
    lane->is_direct = lane->outer == 1 && lane->bits >= 8;
    if (lane->is_direct)
        return TAKT_OK;
    return takt_scratch_add(p, takt_element_bytes(lane->bits, lane->outer * lane->inner),
                            &lane->at);
}

static void *own(const takt_lane *lane, const takt_task *t)
{
    return (char *)t->scratch + lane->at;
}

void *takt_lane_open(const takt_lane *lane, const takt_task *t, void *data, size_t i)
{
    return lane->is_direct ? (char *)data + takt_element_bytes(lane->bits, i * lane->inner)
                           : own(lane, t);
}

const void *takt_lane_take(const takt_lane *lane, const takt_task *t, const void *data, size_t i)
{
    if (lane->is_direct)
        return (const char *)data + takt_element_bytes(lane->bits, i * lane->inner);
    takt_pace pace = takt_pace_bits(t, lane->bits);
    for (size_t o = 0; o < lane->outer; o++)
        if (!takt_pace_elements(&pace, own(lane, t), o * lane->inner, data,
                                (o * lane->size + i) * lane->inner, lane->inner))
            break;
    takt_clear_tail(lane->bits, own(lane, t), lane->outer * lane->inner);
    return own(lane, t);
}

void takt_lane_close(const takt_lane *lane, const takt_task *t, void *data, size_t i)
{
    takt_pace pace = takt_pace_bits(t, lane->bits);
    for (size_t o = 0; o < lane->outer && !lane->is_direct; o++)
        if (!takt_pace_elements(&pace, data, (o * lane->size + i) * lane->inner, own(lane, t),
                                o * lane->inner, lane->inner))
            break;
}

/* ---- carried values ---- */

static size_t bytes_of(const takt_view *v)
{
    size_t count = 1;
    for (int d = 0; d < v->rank; d++)
        count *= (size_t)v->dim[d];
    return takt_element_bytes(takt_dtype_bits(v->dtype), count);
}

takt_status takt_carried_compile(takt_planner *p, size_t in, size_t out, takt_carried *c)
{
    *c = (takt_carried){.in = in, .out = out, .bytes = bytes_of(&p->step->out[out])};
    return takt_scratch_add(p, c->bytes, &c->at);
}

void *takt_carried_target(const takt_carried *c, const takt_step *s, const takt_task *t,
                          size_t iteration)
{
    return iteration % 2 == 0 ? takt_view_data(t, &s->out[c->out]) : (char *)t->scratch + c->at;
}

void takt_carried_close(const takt_carried *c, const takt_step *s, const takt_task *t,
                        const void *last)
{
    void *to = takt_view_data(t, &s->out[c->out]);
    if (last != to)
        takt_pace_copy(t, to, last, c->bytes);
}
