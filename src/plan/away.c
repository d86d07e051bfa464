/* away.c - values and constants in the memory of devices.
 *
 * A value is made in one space and read in any. Before a group is compiled, copy steps for its
 * inputs from other spaces are inserted, once per value and space. Constants are copied when the
 * plan is made, and shared by plans of all sizes. */
#include "base/mem.h"
#include "base/size.h"
#include "ir/leaves.h"
#include "plan/builder.h"
#include "plan/finish.h"

/* ---- constants ---- */

/* Device memory behind a storage. */
typedef struct block {
    takt_ctx *ctx;
    const takt_device *device;
    void *dev, *data;
    size_t bytes;
} block;

static void put_block(void *user)
{
    block *own = user;
    own->device->put(own->dev, own->data, own->bytes);
    takt_mem_put(own->ctx, own, sizeof *own);
}

takt_status takt_space_storage(takt_ctx *ctx, const takt_plan_space *s, const char *what,
                               size_t bytes, takt_storage **storage)
{
    void *record;
    const takt_device *device = s->backend->device;
    const size_t room = bytes > 0 ? bytes : 1;
    TAKT_TRY(takt_mem_get(ctx, sizeof(block), "device memory", &record));
    block *own = record;
    *own = (block){.ctx = ctx, .device = device, .dev = s->device, .bytes = room};
    takt_status status = takt_space_get(ctx, s, what, room, &own->data);
    if (status != TAKT_OK) {
        takt_mem_put(ctx, own, sizeof *own);
        return status;
    }
    status = takt_storage_borrow(ctx, own->data, bytes, put_block, own, storage);
    if (status != TAKT_OK)
        put_block(own);
    return status;
}

static takt_status get_block(takt_builder *b, takt_space space, size_t bytes, const void *from,
                             takt_storage **storage)
{
    const takt_plan_space *s = &b->p.plan->space[space];
    TAKT_TRY(takt_space_storage(b->p.ctx, s, "a constant", bytes, storage));
    if (bytes == 0)
        return TAKT_OK;
    const takt_status status =
        s->backend->device->copy(s->device, TAKT_COPY_UP, takt_storage_data(*storage), from, bytes);
    if (status != TAKT_OK)
        takt_storage_release(*storage);
    return status;
}

static takt_status make_constant(takt_builder *b, takt_space space, uint32_t from, uint32_t *buffer)
{
    takt_plan *plan = b->p.plan;
    const takt_tensor *host = &plan->constants[plan->buffers[from].index];
    const size_t bytes = plan->buffers[from].bytes;
    takt_tensor away = {.type = host->type};
    if (b->p.settings->is_dry)
        TAKT_TRY(takt_storage_borrow(b->p.ctx, NULL, bytes, NULL, NULL, &away.storage));
    else
        TAKT_TRY(get_block(b, space, bytes, takt_tensor_data(host), &away.storage));
    const takt_status status = takt_builder_new_constant(b, &away, buffer);
    takt_tensor_release(&away);
    if (status == TAKT_OK)
        plan->buffers[*buffer].space = space;
    return status;
}

takt_status takt_builder_upload(takt_builder *b, const takt_pack_name *name, uint32_t from,
                                uint32_t *buffer)
{
    takt_packs *packs = takt_builder_packs(b);
    takt_plan *plan = b->p.plan;
    takt_tensor known;
    if (takt_builder_find_pack(b, name, &known)) {
        takt_status status = takt_builder_new_constant(b, &known, buffer);
        if (status == TAKT_OK) /* it may belong to another graph */
            status = takt_packs_keep(packs, name, &known);
        takt_tensor_release(&known);
        if (status == TAKT_OK)
            plan->buffers[*buffer].space = name->space;
        return status;
    }
    TAKT_TRY(make_constant(b, name->space, from, buffer));
    return takt_packs_keep(packs, name, &plan->constants[plan->buffers[*buffer].index]);
}

/* ---- copies ---- */

/* From the view in[0] to a new buffer. The step runs where the device is. */
static takt_status push_copy(takt_builder *b, const takt_view *from, takt_buffer to,
                             const char *name, uint32_t *made)
{
    static const char *const kinds[] = {
        [TAKT_COPY_UP] = "upload", [TAKT_COPY_DOWN] = "download", [TAKT_COPY_WITHIN] = "copy"};
    takt_plan *plan = b->p.plan;
    const takt_space home = plan->buffers[from->buffer].space;
    const takt_space away = to.space != TAKT_HOST ? to.space : home;
    const takt_copy way = to.space == home        ? TAKT_COPY_WITHIN
                          : to.space != TAKT_HOST ? TAKT_COPY_UP
                                                  : TAKT_COPY_DOWN;
    takt_view *views = takt_planner_get(&b->p, 2 * sizeof *views);
    if (views == NULL || name == NULL)
        return TAKT_ERR_MEMORY;
    to.first = to.last = (int)plan->step_count;
    if (plan->buffers[from->buffer].last < to.last)
        plan->buffers[from->buffer].last = to.last;
    TAKT_TRY(takt_builder_new_buffer(b, to, made));
    views[0] = views[1] = *from;
    views[1].buffer = *made;
    views[1].offset = 0;
    const takt_step step = {.kind = kinds[way],
                            .kernel = "copy",
                            .name = name,
                            .facts.work = TAKT_WORK_MOVE,
                            .transfer = {.way = way, .bytes = to.bytes},
                            .is_commit = to.place == TAKT_PLACE_STATE,
                            .in = &views[0],
                            .out = &views[1],
                            .in_count = 1,
                            .out_count = 1,
                            .task_count = 1,
                            .cost.bytes = 2 * (double)to.bytes,
                            .backend = plan->space[away].backend,
                            .space = away};
    return takt_builder_push(b, &step);
}

/* The whole contents of the buffer of `node`, or a part of it. */
static takt_status view_at_home(takt_builder *b, takt_id node, takt_view *view)
{
    const takt_space before = b->space;
    const int index = b->step_index;
    b->space = b->space_of[b->root[node]];
    b->step_index = (int)b->p.plan->step_count;
    const takt_status status = takt_planner_view(&b->p, node, view);
    b->space = before;
    b->step_index = index;
    return status;
}

takt_status takt_builder_bring(takt_builder *b, takt_id root, takt_space space)
{
    const takt_graph *g = b->p.graph;
    uint32_t *known = &b->copy_in[space][root];
    if (b->is_constant[root] || b->space_of[root] == space || *known != UINT32_MAX)
        return TAKT_OK;
    takt_view from;
    TAKT_TRY(view_at_home(b, root, &from));
    takt_buffer to = {.place = TAKT_PLACE_ARENA,
                      .space = space,
                      .bytes = b->p.plan->buffers[from.buffer].bytes,
                      .value = root};
    const int output = space == TAKT_HOST ? takt_builder_output_of(b, root, to.bytes) : -1;
    if (output >= 0) {
        to.place = TAKT_PLACE_OUTPUT;
        to.index = (uint32_t)output;
    }
    return push_copy(
        b, &from, to,
        takt_arena_format(&b->p.plan->arena, "%s: to %s", takt_node_label(&g->nodes[root]),
                          space == TAKT_HOST ? "the host" : b->p.plan->space[space].backend->name),
        known);
}

takt_status takt_builder_bring_all(takt_builder *b, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; b->copy_in[0] != NULL && i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                TAKT_TRY(takt_builder_bring(b, b->root[n->in[k]], b->space));
    }
    return TAKT_OK;
}

takt_status takt_builder_bring_output(takt_builder *b, size_t output)
{
    const takt_port *port = &b->p.graph->outputs[output];
    takt_view from;
    uint32_t made;
    takt_buffer to = {.place = TAKT_PLACE_OUTPUT, .index = (uint32_t)output, .value = TAKT_NONE};
    if (!takt_type_bytes(takt_type_of(b->p.graph, port->id), &to.bytes))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "output %s is too large", port->name);
    TAKT_TRY(view_at_home(b, port->id, &from));
    return push_copy(b, &from, to,
                     takt_arena_format(&b->p.plan->arena, "%s: to the host", port->name), &made);
}

takt_status takt_builder_commit_away(takt_builder *b, size_t slot)
{
    const takt_slot *s = &b->p.graph->slots[slot];
    takt_view from;
    uint32_t made;
    takt_buffer to = {.place = TAKT_PLACE_STATE,
                      .space = b->p.plan->slots[slot].space,
                      .index = (uint32_t)slot,
                      .value = TAKT_NONE};
    if (!takt_type_bytes(&s->type, &to.bytes))
        return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "state %s is too large", s->name);
    TAKT_TRY(view_at_home(b, s->next, &from));
    return push_copy(b, &from, to, takt_arena_format(&b->p.plan->arena, "%s: commit", s->name),
                     &made);
}
