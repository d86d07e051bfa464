/* late.c - constants that some step needs, made in a separate stage.
 *
 * A step that requests a computed constant is given memory for it and goes on. If a plan of another
 * size has made it already, that one is used, and its sources are not needed at all. When the step
 * is compiled, the rest is computed with the same kernels as all others, so that folding cannot
 * change bits; dependencies come first, by a list and not by recursion, because chains of constants
 * may be long. Then the packed forms and copies that the step requested are made as well. */
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "ir/leaves.h"
#include "plan/basis.h"
#include "plan/builder.h"

enum { RESERVED = 2 }; /* of is_late: memory is allocated for it, but not yet filled */

takt_status takt_builder_mark_late(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    b->is_late = takt_arena_array(&b->scratch, g->count, 1);
    b->is_wanted = takt_arena_array(&b->scratch, b->group_count, 1);
    b->late = takt_arena_array(&b->scratch, b->group_count, sizeof *b->late);
    b->reserved = takt_arena_array(&b->scratch, g->count, sizeof *b->reserved);
    if (b->is_late == NULL || b->is_wanted == NULL || b->late == NULL || b->reserved == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        b->is_late[i] = b->live[i] && b->is_constant[i] && b->root[i] == i && !b->is_alias[i] &&
                        (b->group_index[i] >= 0 || g->nodes[i].op == &takt_op_get);
    return TAKT_OK;
}

int32_t takt_builder_maker(const takt_builder *b, takt_id root)
{
    const takt_node *n = &b->p.graph->nodes[root];
    return b->group_index[n->op == &takt_op_get ? n->in[0] : root];
}

takt_packs *takt_builder_packs(const takt_builder *b)
{
    const takt_basis *basis = b->p.settings->basis;
    return basis == NULL || b->p.settings->is_dry ? NULL : basis->packs;
}

bool takt_builder_find_pack(const takt_builder *b, const takt_pack_name *name, takt_tensor *tensor)
{
    return takt_builder_packs(b) != NULL &&
           takt_basis_find_pack(b->p.settings->basis, name, tensor);
}

static takt_status find(takt_builder *b, takt_id root)
{
    takt_tensor tensor;
    const takt_pack_name name = {.node = root, .format = ""};
    if (!takt_builder_find_pack(b, &name, &tensor))
        return TAKT_OK;
    const takt_status status = takt_builder_new_constant(b, &tensor, &b->p.plan->buffer_of[root]);
    takt_tensor_release(&tensor);
    if (status == TAKT_OK)
        b->is_late[root] = 0;
    return status;
}

static void want(takt_builder *b, int32_t group, size_t *count)
{
    if (b->is_wanted[group])
        return;
    b->is_wanted[group] = 1;
    b->late[(*count)++] = &b->groups[group];
}

static takt_status want_inputs(takt_builder *b, const takt_group *group, size_t *count)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++) {
            const takt_id root = n->in[k] == TAKT_NONE ? TAKT_NONE : b->root[n->in[k]];
            if (root == TAKT_NONE || !b->is_late[root] ||
                takt_builder_maker(b, root) == group - b->groups)
                continue;
            TAKT_TRY(find(b, root));
            if (b->is_late[root])
                want(b, takt_builder_maker(b, root), count);
        }
    }
    return TAKT_OK;
}

/* A group's results get new memory, even a result that was found, since others hold it. Memory
 * assigned to a step does not move. */
static void renew(takt_builder *b, takt_id node)
{
    if (b->is_late[node] != RESERVED)
        b->p.plan->buffer_of[node] = UINT32_MAX;
    b->is_late[node] = 0;
}

static bool is_sized(const takt_builder *b, const takt_group *group)
{
    if (b->sized == NULL)
        return false;
    for (size_t i = 0; i < group->count; i++)
        if (b->p.settings->basis->template->is_sized[group->nodes[i]])
            return true;
    return false;
}

/* Compiles and runs the group that computes a constant. */
static takt_status make(takt_builder *b, const takt_group *group)
{
    const takt_builder was = *b;
    for (size_t i = 0; i < group->count; i++) {
        renew(b, group->nodes[i]);
        for (takt_id get = b->gets[group->nodes[i]]; get != TAKT_NONE; get = b->next_get[get])
            renew(b, get);
    }
    b->answers = is_sized(b, group) ? b->sized : NULL; /* not those of steps */
    const takt_status status = takt_builder_compile(b, group);
    b->answers = was.answers;
    b->p.step = was.p.step;
    b->p.group = was.p.group;
    b->in_prologue = was.in_prologue;
    b->space = was.space;
    b->step_index = was.step_index;
    b->in_capacity = was.in_capacity;
    b->out_capacity = was.out_capacity;
    return status;
}

/* Groups are in an array, in an order in which they can run. */
static bool is_before(const void *a, const void *b)
{
    return (const char *)a < (const char *)b;
}

takt_status takt_builder_want(takt_builder *b, takt_id root)
{
    if (b->is_late[root] == RESERVED)
        return TAKT_OK;
    TAKT_TRY(find(b, root));
    if (!b->is_late[root])
        return TAKT_OK;
    TAKT_TRY(
        takt_builder_new_computed(b, takt_type_of(b->p.graph, root), &b->p.plan->buffer_of[root]));
    b->is_late[root] = RESERVED;
    b->reserved[b->reserved_count++] = root;
    return TAKT_OK;
}

/* Everything promised to steps, and its dependencies. */
static takt_status make_all(takt_builder *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->reserved_count; i++)
        want(b, takt_builder_maker(b, b->reserved[i]), &count);
    for (size_t i = 0; i < count; i++)
        TAKT_TRY(want_inputs(b, b->late[i], &count));
    takt_sort_pointers((const void **)b->late, count, is_before);
    for (size_t i = 0; i < count; i++) {
        TAKT_TRY(make(b, b->late[i]));
        b->is_wanted[b->late[i] - b->groups] = 0;
    }
    b->reserved_count = 0;
    return TAKT_OK;
}

/* ---- what is made from them ---- */

takt_status takt_builder_postpone(takt_builder *b, const takt_pack_name *name, void *user,
                                  uint32_t *buffer)
{
    takt_tensor empty = {.type = {.dtype = TAKT_U8, .rank = 1}};
    empty.type.dim[0] = (takt_dim)name->bytes;
    TAKT_TRY(takt_builder_new_constant(b, &empty, buffer));
    b->p.plan->buffers[*buffer].space = name->space;
    takt_pending *p = takt_arena_array(&b->scratch, 1, sizeof *p);
    if (p == NULL)
        return TAKT_ERR_MEMORY;
    *p = (takt_pending){.name = *name, .user = user, .buffer = *buffer, .next = b->pending};
    p->name.format = takt_arena_text(&b->scratch, name->format, strlen(name->format));
    b->pending = p;
    return p->name.format != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static takt_status make_pending(takt_builder *b, const takt_pending *p)
{
    takt_plan *plan = b->p.plan;
    uint32_t made;
    if (b->p.settings->is_dry) {
        plan->packed_bytes +=
            p->name.fill != NULL && p->name.space == TAKT_HOST ? p->name.bytes : 0;
        return takt_storage_borrow(b->p.ctx, NULL, p->name.bytes, NULL, NULL,
                                   &plan->constants[plan->buffers[p->buffer].index].storage);
    }
    if (p->name.fill != NULL)
        TAKT_TRY(takt_builder_pack(b, &p->name, p->user, &made));
    else
        TAKT_TRY(takt_builder_upload(b, &p->name, plan->buffer_of[p->name.node], &made));
    takt_tensor *to = &plan->constants[plan->buffers[p->buffer].index];
    *to = plan->constants[plan->buffers[made].index];
    takt_storage_retain(to->storage); /* the other reference is dropped with a buffer that nothing
                                       * reads */
    return TAKT_OK;
}

takt_status takt_builder_settle(takt_builder *b)
{
    TAKT_TRY(takt_builder_make_asked(b));
    TAKT_TRY(takt_builder_settle_forms(b));
    if (b->reserved_count > 0)
        TAKT_TRY(make_all(b));
    while (b->pending != NULL) {
        const takt_pending *p = b->pending;
        b->pending = p->next;
        TAKT_TRY(make_pending(b, p));
    }
    return TAKT_OK;
}

takt_status takt_builder_keep(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    const takt_plan *plan = b->p.plan;
    takt_packs *packs = takt_builder_packs(b);
    for (size_t i = 0; packs != NULL && i < g->count; i++) {
        const uint32_t at = plan->buffer_of[i];
        if (!b->is_constant[i] || at == UINT32_MAX || b->root[i] != i ||
            g->nodes[i].op == &takt_op_constant)
            continue;
        const takt_buffer *buffer = &plan->buffers[at];
        if (buffer->place != TAKT_PLACE_CONSTANT || buffer->last < 0)
            continue;
        const takt_pack_name name = {.node = (takt_id)i, .format = ""};
        TAKT_TRY(takt_packs_keep(packs, &name, &plan->constants[buffer->index]));
    }
    return TAKT_OK;
}
