/* packing.c - constants in other layouts, which steps read instead of them: packed once for all
 * plans of a graph. */
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "ir/storage.h"
#include "plan/answers.h"
#include "plan/basis.h"
#include "plan/builder.h"
#include "plan/pack_fill.h"
#include "plan/packs.h"

/* The tensor that a constant node's bytes are in, on the host, whichever backend requests it. */
static takt_status tensor_of(takt_builder *b, takt_id node, const takt_tensor **tensor)
{
    uint32_t buffer;
    const takt_space space = b->space;
    b->space = TAKT_HOST;
    const takt_status status = takt_builder_buffer(b, node, &buffer);
    b->space = space;
    if (status == TAKT_OK)
        *tensor = &b->p.plan->constants[b->p.plan->buffers[buffer].index];
    return status;
}

/* Where the bytes of a constant are: a node's, or a tensor's of a subgraph. */
typedef struct pack_source {
    takt_id node;
    const takt_tensor *tensor; /* or NULL */
} pack_source;

/* Whether the group that is compiled reads a root as it is. Products that pack the source of a
 * weight in a wider type do not: others may yet pack it for themselves. */
static bool reads_itself(const takt_builder *b, takt_id root)
{
    const takt_group *group = &b->groups[b->sequence[b->position]];
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &b->p.graph->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE && b->root[n->in[k]] == root)
                return true;
    }
    return false;
}

/* Whether nothing reads a constant after the step that is compiled: no other group will ask for it,
 * no step that was made reads it in a run, and of a model that the plan uses up graph and plan hold
 * its bytes, and nobody else. */
static bool is_last_read(const takt_builder *b, takt_id node, const takt_tensor *tensor)
{
    enum { HOLDERS = 2 };
    const takt_plan *plan = b->p.plan;
    const takt_id root = b->root[node];
    const uint32_t buffer = plan->buffer_of[root];
    return b->reads != NULL && b->p.settings->consumes && b->reads[root] == 1 && !b->in_prologue &&
           buffer != UINT32_MAX && plan->buffers[buffer].first < 0 &&
           b->p.graph->nodes[root].op == &takt_op_constant && reads_itself(b, root) &&
           takt_storage_is_held_by(tensor->storage, HOLDERS);
}

static takt_status write_pack(takt_builder *b, const pack_source *from, const takt_pack_name *name,
                              void *user, void *to)
{
    takt_pack_work w = {.name = name, .user = user, .tensor = from->tensor, .to = to};
    if (w.tensor == NULL) {
        TAKT_TRY(tensor_of(b, from->node, &w.tensor));
        w.offset = b->root_offset[from->node];
        w.is_last = is_last_read(b, from->node, w.tensor);
    }
    return takt_builder_fill(b, &w);
}

/* The packed form of `from`, as a constant of raw bytes. */
static takt_status make_pack(takt_builder *b, const pack_source *from, const takt_pack_name *name,
                             void *user, uint32_t *buffer)
{
    takt_type type = {.dtype = TAKT_U8, .rank = 1};
    type.dim[0] = (takt_dim)name->bytes;
    takt_tensor packed = {.type = type};
    if (b->p.settings->is_dry)
        TAKT_TRY(takt_storage_borrow(b->p.ctx, NULL, name->bytes, NULL, NULL, &packed.storage));
    else
        TAKT_TRY(takt_tensor_create(b->p.ctx, &type, &packed));
    takt_status status = TAKT_OK;
    if (!b->p.settings->is_dry) {
        status = write_pack(b, from, name, user, takt_tensor_data(&packed));
        if (status == TAKT_OK)
            status = takt_storage_share(&packed.storage);
    }
    if (status == TAKT_OK)
        status = takt_builder_new_constant(b, &packed, buffer);
    takt_tensor_release(&packed);
    if (status == TAKT_OK)
        b->p.plan->packed_bytes += name->bytes;
    return status;
}

/* On a device: the host keeps it only until it has been copied there. */
static takt_status move_pack(takt_builder *b, const takt_pack_name *name, uint32_t *buffer)
{
    b->p.plan->packed_bytes -= name->bytes;
    return takt_builder_upload(b, name, *buffer, buffer);
}

/* The pack that the step had at other sizes, if the request is the same. */
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
    if (takt_answers_replayed(b))
        return pack_again(b, TAKT_NONE, format, bytes, index);
    /* Not tied to a node, so it is never found again. */
    const takt_pack_name name = {
        .node = UINT32_MAX, .format = "", .bytes = bytes, .fill = fill, .space = b->space};
    TAKT_TRY(make_pack(b, &source, &name, user, &buffer));
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
    TAKT_TRY(make_pack(b, &from, name, user, buffer));
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
    if (takt_builder_find_pack(b, name, &packed)) {
        takt_status status = takt_builder_new_constant(b, &packed, buffer);
        if (status == TAKT_OK) /* it may belong to another graph */
            status = takt_packs_keep(takt_builder_packs(b), name, &packed);
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
    return takt_planner_packed_by(p, from, &(takt_filler){format, bytes, fill, NULL, NULL}, user,
                                  index);
}

takt_status takt_planner_packed_by(takt_planner *p, takt_id from, const takt_filler *how,
                                   void *user, size_t *index)
{
    takt_builder *b = takt_builder_of(p);
    const char *format = how->format;
    const size_t bytes = how->bytes;
    takt_fill_fn *fill = how->fill;
    const takt_pack_name name = {from, format, bytes, fill, b->space, how->part, how->span};
    uint32_t buffer = UINT32_MAX;
    const char *kept = NULL;
    if (!p->is_constant[from])
        return takt_builder_fill_form(b, &name, user, index);
    if (takt_answers_replayed(b))
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
