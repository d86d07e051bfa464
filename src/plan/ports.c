/* ports.c - places in the arena for outputs that the caller binds no buffer to.
 *
 * An output exists from the step that writes it, and is read when the run is over. Often something
 * in the arena is no longer needed by then. The arena does not grow for it: a session whose outputs
 * are bound has no use for the places. */
#include "base/mem.h"
#include "base/size.h"
#include "base/sort.h"
#include "plan/builder.h"

typedef struct taken {
    size_t offset, end;
} taken;

static bool by_offset(const void *pa, const void *pb)
{
    const taken *a = pa, *b = pb;
    return a->offset != b->offset ? a->offset < b->offset : a->end < b->end;
}

typedef struct ports {
    const takt_plan *plan;
    taken *items;
    taken **list;
} ports;

/* Where values decide sizes, or sessions change them, arenas change, too. */
bool takt_ports_share(const takt_builder *b)
{
    enum { WORK = 1 << 20 };
    const takt_plan *plan = b->p.plan;
    return b->p.settings->reuse && !b->p.settings->changes_sizes && plan->space_count == 1 &&
           plan->graph->output_count * (plan->buffer_count + plan->step_count) <= WORK;
}

bool takt_output_lives(const takt_plan *plan, size_t output, takt_output_life *life)
{
    *life = (takt_output_life){.first = -1};
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place == TAKT_PLACE_OUTPUT && b->index == output &&
            (life->first < 0 || b->first < life->first))
            life->first = b->first;
    }
    return life->first >= 0 &&
           takt_type_bytes(takt_type_of(plan->graph, plan->graph->outputs[output].id),
                           &life->bytes) &&
           life->bytes > 0;
}

takt_status takt_ports_begin(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    const size_t outputs = plan->graph->output_count;
    plan->output_at = takt_arena_array(&plan->arena, outputs, sizeof *plan->output_at);
    if (plan->output_at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < outputs; i++)
        plan->output_at[i] = SIZE_MAX;
    return TAKT_OK;
}

size_t takt_ports_outside(const takt_plan *plan)
{
    size_t sum = 0, bytes;
    for (size_t i = 0; i < plan->graph->output_count; i++)
        if (plan->output_at[i] == SIZE_MAX &&
            takt_type_bytes(takt_type_of(plan->graph, plan->graph->outputs[i].id), &bytes))
            sum += takt_round_up(bytes, TAKT_ALIGN);
    return sum;
}

static void add(ports *p, size_t *count, size_t offset, size_t bytes)
{
    p->items[*count] = (taken){offset, offset + takt_round_up(bytes, TAKT_ALIGN)};
    p->list[*count] = &p->items[*count];
    ++*count;
}

/* What the arena holds at step `first` or later. */
static size_t list_taken(ports *p, int first)
{
    const takt_plan *plan = p->plan;
    size_t count = 0;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place == TAKT_PLACE_ARENA && b->last >= first)
            add(p, &count, b->offset, b->bytes);
    }
    for (size_t i = (size_t)first; i < plan->step_count; i++) {
        const size_t bytes = takt_step_scratch(&plan->steps[i], plan->threads);
        if (bytes > 0)
            add(p, &count, plan->steps[i].scratch_offset, bytes);
    }
    for (size_t i = 0; i < plan->graph->output_count; i++) {
        takt_output_life life;
        if (plan->output_at[i] != SIZE_MAX && takt_output_lives(plan, i, &life))
            add(p, &count, plan->output_at[i], life.bytes);
    }
    takt_sort_pointers((const void **)p->list, count, by_offset);
    return count;
}

/* The lowest gap that takes the output; SIZE_MAX: there is none. */
static size_t gap_for(ports *p, const takt_output_life *life)
{
    size_t at = 0;
    if (life->bytes > p->plan->arena_bytes)
        return SIZE_MAX;
    const size_t count = list_taken(p, life->first);
    for (size_t i = 0; i < count && p->list[i]->offset < at + life->bytes; i++)
        at = p->list[i]->end > at ? p->list[i]->end : at;
    return at + life->bytes <= p->plan->arena_bytes ? at : SIZE_MAX;
}

takt_status takt_ports_fill(takt_builder *b)
{
    takt_plan *plan = b->p.plan;
    const size_t outputs = plan->graph->output_count;
    const size_t most = plan->buffer_count + plan->step_count + outputs;
    ports p = {.plan = plan,
               .items = takt_arena_array(&b->scratch, most, sizeof *p.items),
               .list = takt_arena_array(&b->scratch, most, sizeof *p.list)};
    if (p.items == NULL || p.list == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < outputs && takt_ports_share(b); i++) {
        takt_output_life life;
        if (plan->output_at[i] == SIZE_MAX && takt_output_lives(plan, i, &life))
            plan->output_at[i] = gap_for(&p, &life);
    }
    return TAKT_OK;
}
