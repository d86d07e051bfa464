/* planner.c - services for a backend that compiles a step: views, constants in its own form,
 * kernels, and facts about the group. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "ir/storage.h"
#include "plan/answers.h"
#include "plan/basis.h"
#include "plan/builder.h"
#include "plan/packs.h"

/* False if a stride does not fit: a broadcast value needs no memory, and may be arbitrarily
 * large. */
static bool dense_view(const takt_type *type, takt_view *view)
{
    view->dtype = type->dtype;
    view->rank = type->rank;
    int64_t stride = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        view->dim[d] = type->dim[d];
        view->stride[d] = stride;
        if (!takt_i64_mul(stride, type->dim[d], &stride))
            return false;
    }
    return true;
}

takt_status takt_planner_view(takt_planner *p, takt_id node, takt_view *view)
{
    takt_builder *b = takt_builder_of(p);
    const takt_id typed = b->is_converted[node] ? p->graph->nodes[node].in[0] : node;
    *view = (takt_view){0};
    if (!dense_view(takt_type_of(p->graph, typed), view))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "a %s result is too large",
                         p->graph->nodes[node].op->name);
    view->offset = b->root_offset[node];
    if (takt_answers_replayed(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_VIEW);
        if (a == NULL || a->node != node)
            return TAKT_OTHER_QUESTION;
        view->buffer = a->buffer;
        return TAKT_OK;
    }
    TAKT_TRY(takt_builder_buffer(b, node, &view->buffer));
    takt_buffer *buffer = &p->plan->buffers[view->buffer];
    if (buffer->place != TAKT_PLACE_CONSTANT && buffer->last < b->step_index)
        buffer->last = b->step_index;
    p->plan->view_of[node] = *view;
    return takt_answers_keep(
        b, (takt_answer){.what = TAKT_ASKED_VIEW, .node = node, .buffer = view->buffer});
}

/* Room for one more view, which is not counted yet; NULL: there is no memory. */
static takt_view *next_view(takt_planner *p, takt_view **views, size_t count, size_t *capacity)
{
    if (count == *capacity) {
        const size_t more = *capacity == 0 ? 4 : 2 * *capacity;
        takt_view *grown = takt_arena_array(&p->plan->arena, more, sizeof *grown);
        if (grown == NULL)
            return NULL;
        if (count > 0)
            memcpy(grown, *views, count * sizeof *grown);
        *views = grown;
        *capacity = more;
    }
    return *views + count;
}

static takt_status add_view(takt_planner *p, takt_view **views, size_t *count, size_t *capacity,
                            const takt_view *view)
{
    takt_view *slot = next_view(p, views, *count, capacity);
    if (slot == NULL)
        return TAKT_ERR_MEMORY;
    *slot = *view;
    ++*count;
    return TAKT_OK;
}

takt_status takt_builder_add_out(takt_builder *b, const takt_view *view)
{
    takt_step *s = b->p.step;
    return add_view(&b->p, &s->out, &s->out_count, &b->out_capacity, view);
}

/* The list of views of a step that a value is added to. */
typedef struct view_list {
    takt_view **views;
    size_t *count, *capacity;
} view_list;

static takt_status put_value(takt_planner *p, view_list to, takt_id node, size_t *index)
{
    takt_view *slot = next_view(p, to.views, *to.count, to.capacity);
    if (slot == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_planner_view(p, node, slot));
    *index = (*to.count)++;
    return TAKT_OK;
}

takt_status takt_planner_input(takt_planner *p, takt_id node, size_t *index)
{
    takt_step *s = p->step;
    const view_list in = {&s->in, &s->in_count, &takt_builder_of(p)->in_capacity};
    return put_value(p, in, node, index);
}

takt_status takt_planner_inputs(takt_planner *p, const takt_node *n)
{
    size_t index;
    for (uint32_t k = 0; k < n->in_count; k++)
        TAKT_TRY(takt_planner_input(p, n->in[k], &index));
    return TAKT_OK;
}

takt_status takt_planner_output(takt_planner *p, takt_id node, size_t *index)
{
    takt_step *s = p->step;
    const view_list out = {&s->out, &s->out_count, &takt_builder_of(p)->out_capacity};
    return put_value(p, out, node, index);
}

/* The step reads the value in several ways: as itself and as a slice or another view of it, or, if
 * elements move, twice. It must not be overwritten in place. */
static bool is_read_twice(const takt_builder *b, takt_id value)
{
    const takt_group *group = b->p.group;
    takt_id reader = TAKT_NONE;
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &b->p.graph->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++) {
            if (n->in[k] == TAKT_NONE || b->root[n->in[k]] != b->root[value])
                continue;
            if (reader != TAKT_NONE && (reader != n->in[k] || !group->is_map))
                return true;
            reader = n->in[k];
        }
    }
    return false;
}

/* A result that replaces an input has as many bytes as the input at other sizes, too. */
static takt_status output_again(takt_planner *p, takt_id node, size_t input, size_t *index)
{
    TAKT_TRY(takt_planner_output(p, node, index));
    const takt_view *in = &p->step->in[input], *out = &p->step->out[*index];
    int64_t more = takt_dtype_bits(in->dtype), less = takt_dtype_bits(out->dtype);
    for (int d = 0; d < in->rank; d++)
        more *= in->dim[d];
    for (int d = 0; d < out->rank; d++)
        less *= out->dim[d];
    const bool is_over = in->buffer == out->buffer;
    return is_over && (more != less || in->offset != 0) ? TAKT_OTHER_QUESTION : TAKT_OK;
}

takt_status takt_planner_output_over(takt_planner *p, takt_id node, size_t input, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
    if (takt_answers_replayed(b))
        return output_again(p, node, input, index);
    const takt_view *in = &p->step->in[input];
    const takt_buffer *buffer = &p->plan->buffers[in->buffer];
    const takt_id root = b->root[node];
    uint32_t slot;
    size_t bytes;
    const bool fits = takt_type_bytes(takt_type_of(p->graph, node), &bytes) && in->offset == 0 &&
                      bytes == buffer->bytes &&
                      (buffer->place == TAKT_PLACE_ARENA || takt_builder_is_donated(b, buffer));
    if (fits && p->settings->reuse && p->settings->in_place && root == node && !b->in_prologue &&
        buffer->value != TAKT_NONE && p->plan->buffer_of[root] == UINT32_MAX &&
        takt_builder_direct_output(b, root, bytes) < 0 && !takt_state_swaps(b, root, &slot) &&
        !is_read_twice(b, buffer->value) && b->last_read[buffer->value] <= b->position) {
        p->plan->buffer_of[root] = in->buffer;
        p->plan->buffers[in->buffer].value = root;
    }
    return takt_planner_output(p, node, index);
}

takt_status takt_planner_outputs(takt_planner *p, takt_id anchor)
{
    size_t index;
    for (uint32_t k = 0; k < p->graph->nodes[anchor].out_count; k++)
        TAKT_TRY(takt_planner_result(p, anchor, k, &index));
    return TAKT_OK;
}

takt_status takt_planner_result(takt_planner *p, takt_id anchor, uint32_t k, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
    if (p->graph->nodes[anchor].out_count == 1)
        return takt_planner_output(p, anchor, index);
    for (takt_id get = b->gets[anchor]; get != TAKT_NONE; get = b->next_get[get])
        if (p->graph->nodes[get].attr[0].i64 == (int64_t)k)
            return takt_planner_output(p, get, index);
    takt_view view = {0};
    const takt_type *type = &p->graph->nodes[anchor].type[k];
    takt_buffer made = {.place = TAKT_PLACE_ARENA, /* nobody reads it */
                        .space = b->space,
                        .first = b->step_index,
                        .last = b->step_index,
                        .value = TAKT_NONE};
    if (!dense_view(type, &view) || !takt_type_bytes(type, &made.bytes))
        return takt_fail(p->ctx, TAKT_E_OVERFLOW, "a result is too large");
    *index = p->step->out_count;
    if (takt_answers_replayed(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_RESULT);
        if (a == NULL || a->bytes < made.bytes)
            return TAKT_OTHER_QUESTION;
        view.buffer = a->buffer;
        return add_view(p, &p->step->out, &p->step->out_count, &b->out_capacity, &view);
    }
    if (b->in_prologue) { /* there is no arena yet; unread constants are dropped in the end */
        takt_answers_give_up(b);
        TAKT_TRY(takt_builder_new_computed(b, type, &view.buffer));
        return add_view(p, &p->step->out, &p->step->out_count, &b->out_capacity, &view);
    }
    TAKT_TRY(takt_builder_new_buffer(b, made, &view.buffer));
    TAKT_TRY(takt_answers_keep(b, (takt_answer){.what = TAKT_ASKED_RESULT,
                                                .node = anchor,
                                                .buffer = view.buffer,
                                                .bytes = made.bytes}));
    return add_view(p, &p->step->out, &p->step->out_count, &b->out_capacity, &view);
}

bool takt_planner_is_constant(const takt_planner *p, takt_id node)
{
    return p->is_constant[node] != 0;
}

bool takt_planner_in_prologue(const takt_planner *p)
{
    return ((const takt_builder *)p)->in_prologue;
}

takt_status takt_builder_add_raw(takt_builder *b, uint32_t buffer, size_t bytes, size_t *index)
{
    takt_planner *p = &b->p;
    takt_view view = {.dtype = TAKT_U8, .rank = 1, .buffer = buffer};
    view.dim[0] = (int64_t)bytes;
    view.stride[0] = 1;
    *index = p->step->in_count;
    return add_view(p, &p->step->in, &p->step->in_count, &b->in_capacity, &view);
}
