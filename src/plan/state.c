/* state.c - state that is updated in place.
 *
 * A cache grows by a row at a time; copying all of it for that would cost more than the rest of the
 * run. So a step that makes the next value of a slot out of its old one may overwrite it, long
 * before the commit phase, if nobody reads the old value any more, and if it can undo its change
 * when a later step fails, or if nobody can see it then (append.c). */
#include "base/mem.h"
#include "ir/leaves.h"
#include "plan/answers.h"
#include "plan/builder.h"

bool takt_state_is_in_place(const takt_builder *b, size_t slot)
{
    const takt_slot *s = &b->p.graph->slots[slot];
    const uint32_t buffer = b->p.plan->buffer_of[b->root[s->next]];
    return buffer != UINT32_MAX && b->root_offset[s->next] == 0 && b->root[s->next] != s->value &&
           b->p.plan->buffers[buffer].place == TAKT_PLACE_STATE &&
           b->p.plan->buffers[buffer].index == slot;
}

/* The old value is read after, or during, the step being compiled. */
static bool is_read_later(const takt_builder *b, takt_id state, takt_id node)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE && b->root[g->nodes[i].in[k]] == state &&
                b->group_index[i] >= 0 && b->last_run[b->group_index[i]] >= b->position &&
                (i != node || k > 0))
                return true;
    for (size_t i = 0; i < g->output_count; i++)
        if (b->root[g->outputs[i].id] == state)
            return true;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE && b->root[g->slots[i].next] == state)
            return true;
    return false;
}

static bool may_overwrite(const takt_builder *b, takt_id node, const takt_view *in)
{
    const takt_graph *g = b->p.graph;
    const takt_buffer *buffer = &b->p.plan->buffers[in->buffer];
    if (buffer->place != TAKT_PLACE_STATE || in->offset != 0 || !b->p.settings->reuse ||
        b->in_prologue || b->root[node] != node || b->p.plan->buffer_of[node] != UINT32_MAX)
        return false;
    if (b->space != TAKT_HOST && !takt_state_is_append(b, node)) /* nothing could undo it */
        return false;
    const takt_slot *slot = &g->slots[buffer->index];
    size_t bytes;
    if (slot->next == TAKT_NONE || b->root[slot->next] != node || b->root_offset[slot->next] != 0 ||
        !takt_type_bytes(g->nodes[node].type, &bytes) || bytes != buffer->bytes)
        return false;
    for (size_t i = 0; i < g->output_count; i++) /* such a value is made in the output */
        if (b->root[g->outputs[i].id] == node)
            return false;
    return !is_read_later(b, slot->value, node);
}

takt_status takt_planner_output_state(takt_planner *p, takt_id node, size_t input, size_t bytes,
                                      size_t *kept, bool *is_state)
{
    takt_builder *b = takt_builder_of(p);
    size_t index;
    *is_state = may_overwrite(b, node, &p->step->in[input]);
    if (!*is_state)
        return takt_planner_output_over(p, node, input, &index);
    takt_answers_give_up(b);
    p->plan->buffer_of[node] = p->step->in[input].buffer;
    TAKT_TRY(takt_planner_output(p, node, &index));
    *kept = SIZE_MAX;
    if (takt_state_is_append(b, node))
        return TAKT_OK;
    const takt_buffer keep = {.place = TAKT_PLACE_ARENA,
                              .space = b->space,
                              .bytes = bytes,
                              .first = b->step_index,
                              .last = TAKT_FOREVER,
                              .value = TAKT_NONE};
    takt_view view = {.dtype = TAKT_U8, .rank = 1, .dim = {(int64_t)bytes}, .stride = {1}};
    TAKT_TRY(takt_builder_new_buffer(b, keep, &view.buffer));
    *kept = p->step->out_count;
    return takt_builder_add_out(b, &view);
}
