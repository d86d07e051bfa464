/* planner.c - what a backend may request while it compiles a step: views, constants in its own
 * form, kernels, and facts about the group. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "ir/storage.h"
#include "plan/answers.h"
#include "plan/basis.h"
#include "plan/builder.h"
#include "plan/packs.h"

/* False if a stride does not fit: a value that repeats another one needs no memory, and may be
 * larger than any. */
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
    *view = (takt_view){0};
    if (!dense_view(takt_type_of(p->graph, node), view))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "a %s result is too large",
                         p->graph->nodes[node].op->name);
    view->offset = b->root_offset[node];
    if (takt_answers_again(b)) {
        const takt_answer *a = takt_answers_next(b, TAKT_ASKED_VIEW);
        if (a == NULL || a->node != node)
            return TAKT_OTHER_QUESTION;
        view->buffer = a->buffer;
        p->plan->view_of[node] = *view;
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

static takt_status add_view(takt_planner *p, takt_view **views, size_t *count, size_t *capacity,
                            const takt_view *view)
{
    if (*count == *capacity) {
        const size_t more = *capacity == 0 ? 4 : 2 * *capacity;
        takt_view *grown = takt_arena_array(&p->plan->arena, more, sizeof *grown);
        if (grown == NULL)
            return TAKT_ERR_MEMORY;
        if (*count > 0)
            memcpy(grown, *views, *count * sizeof *grown);
        *views = grown;
        *capacity = more;
    }
    (*views)[(*count)++] = *view;
    return TAKT_OK;
}

takt_status takt_builder_add_out(takt_builder *b, const takt_view *view)
{
    takt_step *s = b->p.step;
    return add_view(&b->p, &s->out, &s->out_count, &b->out_capacity, view);
}

takt_status takt_planner_input(takt_planner *p, takt_id node, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
    takt_view view;
    TAKT_TRY(takt_planner_view(p, node, &view));
    *index = p->step->in_count;
    return add_view(p, &p->step->in, &p->step->in_count, &b->in_capacity, &view);
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
    takt_builder *b = takt_builder_of(p);
    takt_view view;
    TAKT_TRY(takt_planner_view(p, node, &view));
    *index = p->step->out_count;
    return add_view(p, &p->step->out, &p->step->out_count, &b->out_capacity, &view);
}

/* The step reads the value in several ways: as itself and as a slice or another view of it, or, if
 * elements do not stay in place, twice. It must not be overwritten meanwhile. */
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
    if (takt_answers_again(b))
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

takt_status takt_planner_result(takt_planner *p, takt_id anchor, uint32_t k, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
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
    if (takt_answers_again(b)) {
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

/* On the host, whichever backend requests it. */
static const void *constant_bytes(takt_builder *b, takt_id node, takt_status *status)
{
    uint32_t buffer;
    const takt_space space = b->space;
    b->space = TAKT_HOST;
    *status = takt_builder_buffer(b, node, &buffer);
    b->space = space;
    if (*status != TAKT_OK)
        return NULL;
    const takt_tensor *t = &b->p.plan->constants[b->p.plan->buffers[buffer].index];
    return (const char *)takt_tensor_data(t) + b->root_offset[node];
}

/* Where the bytes of a constant are: a node's, or a tensor's of a subgraph. */
typedef struct pack_source {
    takt_id node;
    const takt_tensor *tensor; /* or NULL */
} pack_source;

/* The packed form of `from`, as a constant of raw bytes. */
static takt_status make_pack(takt_builder *b, const pack_source *from, size_t bytes,
                             takt_fill_fn *fill, void *user, uint32_t *buffer)
{
    takt_type type = {.dtype = TAKT_U8, .rank = 1};
    type.dim[0] = (takt_dim)bytes;
    takt_tensor packed = {.type = type};
    if (b->p.settings->is_dry)
        TAKT_TRY(takt_storage_borrow(b->p.ctx, NULL, bytes, NULL, NULL, &packed.storage));
    else
        TAKT_TRY(takt_tensor_create(b->p.ctx, &type, &packed));
    takt_status status = TAKT_OK;
    if (!b->p.settings->is_dry) {
        const void *source = from->tensor != NULL ? takt_tensor_data(from->tensor)
                                                  : constant_bytes(b, from->node, &status);
        if (status == TAKT_OK)
            status = fill(user, source, takt_tensor_data(&packed));
        if (status == TAKT_OK)
            status = takt_storage_share(&packed.storage);
    }
    if (status == TAKT_OK)
        status = takt_builder_new_constant(b, &packed, buffer);
    takt_tensor_release(&packed);
    if (status == TAKT_OK)
        b->p.plan->packed_bytes += bytes;
    return status;
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

/* On a device: the host keeps it only until it has been copied there. */
static takt_status move_pack(takt_builder *b, const takt_pack_name *name, uint32_t *buffer)
{
    b->p.plan->packed_bytes -= name->bytes;
    return takt_builder_upload(b, name, *buffer, buffer);
}

/* The pack that the step had at other sizes, if it requests the same one. */
static takt_status pack_again(takt_builder *b, takt_id from, const char *format, size_t bytes,
                              size_t *index)
{
    const takt_answer *a = takt_answers_next(b, TAKT_ASKED_PACK);
    if (a == NULL || a->node != from || a->bytes != bytes || strcmp(a->format, format) != 0)
        return TAKT_OTHER_QUESTION;
    return takt_builder_add_raw(b, a->buffer, bytes, index);
}

takt_status takt_planner_inner(takt_planner *p, const takt_tensor *from, const char *format,
                               size_t bytes, takt_fill_fn *fill, void *user, size_t *index)
{
    uint32_t buffer;
    takt_builder *b = takt_builder_of(p);
    const pack_source source = {.node = TAKT_NONE, .tensor = from};
    if (takt_answers_again(b))
        return pack_again(b, TAKT_NONE, format, bytes, index);
    /* Not tied to a node, so it is never found again. */
    const takt_pack_name name = {
        .node = UINT32_MAX, .format = "", .bytes = bytes, .space = b->space};
    TAKT_TRY(make_pack(b, &source, bytes, fill, user, &buffer));
    if (b->space != TAKT_HOST)
        TAKT_TRY(move_pack(b, &name, &buffer));
    const char *kept = takt_arena_text(&b->scratch, format, strlen(format));
    if (kept == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_answers_keep(b, (takt_answer){.what = TAKT_ASKED_PACK,
                                                .node = TAKT_NONE,
                                                .buffer = buffer,
                                                .bytes = bytes,
                                                .format = kept}));
    return takt_builder_add_raw(b, buffer, bytes, index);
}

takt_status takt_builder_pack(takt_builder *b, const takt_pack_name *name, void *user,
                              uint32_t *buffer)
{
    const takt_plan *plan = b->p.plan;
    const pack_source from = {.node = name->node};
    TAKT_TRY(make_pack(b, &from, name->bytes, name->fill, user, buffer));
    if (name->space != TAKT_HOST)
        return move_pack(b, name, buffer);
    return takt_packs_keep(takt_builder_packs(b), name,
                           &plan->constants[plan->buffers[*buffer].index]);
}

/* What another plan of the graph packed, or a new one for others to share. */
static takt_status get_pack(takt_builder *b, const takt_pack_name *name, void *user,
                            uint32_t *buffer)
{
    takt_tensor packed;
    const takt_id root = b->root[name->node];
    if (takt_packs_find(takt_builder_packs(b), name, &packed)) {
        const takt_status status = takt_builder_new_constant(b, &packed, buffer);
        takt_tensor_release(&packed);
        if (status == TAKT_OK)
            b->p.plan->buffers[*buffer].space = name->space;
        b->p.plan->packed_bytes += status == TAKT_OK && name->space == TAKT_HOST ? name->bytes : 0;
        return status;
    }
    if (b->is_late[root])
        TAKT_TRY(takt_builder_want(b, root));
    return b->is_late[root] ? takt_builder_postpone(b, name, user, buffer)
                            : takt_builder_pack(b, name, user, buffer);
}

takt_status takt_planner_packed(takt_planner *p, takt_id from, const char *format, size_t bytes,
                                takt_fill_fn *fill, void *user, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
    const takt_pack_name name = {from, format, bytes, fill, b->space};
    uint32_t buffer = UINT32_MAX;
    const char *kept = NULL;
    if (!p->is_constant[from])
        return takt_builder_fill_form(b, &name, user, index);
    if (takt_answers_again(b))
        return pack_again(b, from, format, bytes, index);
    for (uint32_t i = b->pack_of[from]; i != UINT32_MAX; i = b->packs[i].next)
        if (b->packs[i].bytes == bytes && b->packs[i].fill == fill &&
            b->packs[i].space == b->space && strcmp(b->packs[i].format, format) == 0) {
            buffer = b->packs[i].buffer;
            kept = b->packs[i].format;
        }
    if (buffer == UINT32_MAX) {
        TAKT_TRY(get_pack(b, &name, user, &buffer));
        void *packs = b->packs;
        const takt_status status =
            takt_mem_grow(p->ctx, &packs, &b->pack_capacity, b->pack_count + 1, sizeof *b->packs);
        b->packs = packs;
        TAKT_TRY(status);
        kept = takt_arena_text(&b->scratch, format, strlen(format));
        if (kept == NULL)
            return TAKT_ERR_MEMORY;
        b->packs[b->pack_count] = (takt_pack_key){.from = from,
                                                  .format = kept,
                                                  .bytes = bytes,
                                                  .fill = fill,
                                                  .space = b->space,
                                                  .buffer = buffer,
                                                  .next = b->pack_of[from]};
        b->pack_of[from] = (uint32_t)b->pack_count++;
    }
    if (b->sized != NULL && p->settings->basis->template->is_sized[from])
        takt_answers_give_up(b);
    TAKT_TRY(takt_answers_keep(b, (takt_answer){.what = TAKT_ASKED_PACK,
                                                .node = from,
                                                .buffer = buffer,
                                                .bytes = bytes,
                                                .format = kept}));
    return takt_builder_add_raw(b, buffer, bytes, index);
}
