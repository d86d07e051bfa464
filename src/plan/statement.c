/* statement.c - what a plan needs of every memory, and whether that is too much. */
#include "base/mem.h"
#include "base/size.h"
#include "plan/finish.h"

static void count_constants(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t k = 0; k < plan->steps[i].in_count; k++) {
            takt_buffer *buffer = &plan->buffers[plan->steps[i].in[k].buffer];
            if (buffer->place == TAKT_PLACE_CONSTANT && buffer->last < 0) {
                buffer->last = (int)i;
                plan->space[buffer->space].constants += buffer->bytes;
            }
        }
    plan->weight_bytes = plan->space[TAKT_HOST].constants;
    plan->weight_bytes -=
        plan->packed_bytes < plan->weight_bytes ? plan->packed_bytes : plan->weight_bytes;
    for (const takt_plan *child = plan->child; child != NULL; child = child->sibling) {
        plan->weight_bytes += child->weight_bytes;
        plan->packed_bytes += child->packed_bytes;
        for (size_t i = 1; i < child->space_count && i < plan->space_count; i++)
            plan->space[i].constants += child->space[i].constants;
    }
}

/* The limit applies to everything that takt_plan_info.peak counts. */
static takt_status check_limit(const takt_builder *b)
{
    const takt_plan *plan = b->p.plan;
    const size_t limit = b->p.settings->memory_limit;
    const size_t parts[] = {plan->weight_bytes, plan->packed_bytes, plan->state_bytes,
                            plan->arena_bytes, plan->io_bytes};
    size_t sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!takt_size_add(sum, parts[i], &sum))
            sum = SIZE_MAX;
    if (limit == 0 || sum <= limit)
        return TAKT_OK;
    return takt_fail(b->p.ctx, TAKT_E_PLAN_LIMIT,
                     "the plan needs %zu bytes (weights %zu, packed weights %zu, state %zu, arena "
                     "%zu, inputs and outputs %zu), the limit is %zu",
                     sum, parts[0], parts[1], parts[2], parts[3], parts[4], limit);
}

/* A device's total memory also limits its space: a plan that can never run on it is not made. */
static takt_status check_device(const takt_builder *b, takt_space space)
{
    takt_plan_space *s = &b->p.plan->space[space];
    const takt_session_memory own = takt_session_memory_of(b->p.plan, space);
    uint64_t total = UINT64_MAX, free = 0;
    size_t sum;
    if (!takt_size_add(s->constants, s->arena, &sum) || !takt_size_add(sum, s->state, &sum) ||
        !takt_size_add(sum, (size_t)own.counters, &sum))
        sum = SIZE_MAX;
    s->limit = b->p.settings->away_limit;
    if (s->limit > 0 && sum > s->limit)
        return takt_fail(b->p.ctx, TAKT_E_PLAN_LIMIT,
                         "the plan needs %zu bytes of %s (constants %zu, state %zu, arena %zu, "
                         "counters %zu), the limit is %zu",
                         sum, s->backend->name, s->constants, s->state, s->arena,
                         (size_t)own.counters, s->limit);
    if (s->backend->device->memory != NULL)
        s->backend->device->memory(s->device, &total, &free);
    if (sum <= total)
        return TAKT_OK;
    takt_fail(b->p.ctx, TAKT_E_DEVICE_MEMORY,
              "the plan needs %zu bytes of constants, %zu of state and %zu of arena on %s, which "
              "has %llu",
              s->constants, s->state, s->arena, s->backend->name, (unsigned long long)total);
    return takt_fail_hint(b->p.ctx,
                          "a smaller batch needs less; backend cpu uses the host's memory");
}

/* Sessions add up the same sizes without looking again. */
static takt_status add(const takt_builder *b, size_t *sum, size_t bytes)
{
    if (takt_size_align(bytes, TAKT_ALIGN, &bytes) && takt_size_add(*sum, bytes, sum) &&
        *sum <= PTRDIFF_MAX)
        return TAKT_OK;
    return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "inputs, outputs or states are too large");
}

static takt_status add_type(const takt_builder *b, size_t *sum, const takt_type *type)
{
    size_t bytes;
    return add(b, sum, takt_type_bytes(type, &bytes) ? bytes : SIZE_MAX);
}

/* Slots, their second memories and their packed forms. */
static takt_status count_state(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->slot_count; i++)
        for (int k = 0; k < (plan->slots[i].is_swapped ? 2 : 1); k++)
            TAKT_TRY(add_type(b, &plan->space[plan->slots[i].space].state, &g->slots[i].type));
    for (size_t i = 0; i < b->form_count; i++)
        TAKT_TRY(add(b, &plan->space[TAKT_HOST].state, b->forms[i].bytes));
    plan->state_bytes = plan->space[TAKT_HOST].state;
    return TAKT_OK;
}

/* Buffers that are elsewhere once a slot's memories were swapped. */
static takt_status list_state(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->buffer_count; i++)
        count +=
            plan->buffers[i].place == TAKT_PLACE_STATE || plan->buffers[i].place == TAKT_PLACE_NEXT;
    plan->state_buffers = takt_arena_array(&plan->arena, count, sizeof *plan->state_buffers);
    if (plan->state_buffers == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < plan->buffer_count; i++)
        if (plan->buffers[i].place == TAKT_PLACE_STATE || plan->buffers[i].place == TAKT_PLACE_NEXT)
            plan->state_buffers[plan->state_buffer_count++] = (uint32_t)i;
    return TAKT_OK;
}

takt_status takt_finish_sizes(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    const takt_graph *g = b->p.graph;
    count_constants(b);
    TAKT_TRY(count_state(b));
    for (size_t i = 0; i < g->input_count; i++)
        TAKT_TRY(add_type(b, &plan->io_bytes, takt_type_of(g, g->inputs[i].id)));
    for (size_t i = 0; i < g->output_count; i++)
        if (plan->output_at[i] == SIZE_MAX)
            TAKT_TRY(add_type(b, &plan->io_bytes, takt_type_of(g, g->outputs[i].id)));
    TAKT_TRY(list_state(b));
    for (size_t i = 1; i < plan->space_count; i++)
        TAKT_TRY(check_device(b, (takt_space)i));
    return check_limit(b);
}
