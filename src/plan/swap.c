/* swap.c - which memory slots are in, and slots that have two.
 *
 * If a step that can fail reads the next value of a slot, that value must exist before it is
 * certain that the run succeeds. It is made in a second memory of the slot, and at the end of the
 * run the two are swapped: nothing is copied. Slots that only take one another's values rotate
 * their memories in a ring. */
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "plan/builder.h"

enum { READ_HERE = 1, READ_AWAY = 2 };

/* The readers of a state that is never written. */
static takt_status find_readers(takt_builder *b, unsigned char **readers)
{
    const takt_graph *g = b->p.graph;
    *readers = takt_arena_array(&b->scratch, g->count, 1);
    if (*readers == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && !b->is_alias[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                (*readers)[b->root[g->nodes[i].in[k]]] |=
                    b->space_of[i] == TAKT_HOST ? READ_HERE : READ_AWAY;
    for (size_t i = 0; i < g->output_count; i++)
        (*readers)[b->root[g->outputs[i].id]] |= READ_HERE;
    return TAKT_OK;
}

/* The space in which its next value is made; for a constant one, the space of all its readers. */
static takt_space space_of(const takt_builder *b, const takt_slot *slot, bool is_changed,
                           const unsigned char *readers)
{
    if (!is_changed)
        return readers[slot->value] == READ_AWAY ? TAKT_AWAY : TAKT_HOST;
    const takt_id root = b->root[slot->next];
    const bool is_leaf = (b->p.graph->nodes[root].op->traits & TAKT_LEAF) != 0;
    return is_leaf || b->is_constant[root] ? TAKT_HOST : b->space_of[root];
}

/* Addresses in two memories are fixed when a session begins, so only a plan with one memory swaps
 * them. */
static bool may_exchange(const takt_builder *b)
{
    return b->copy_in[TAKT_HOST] == NULL && b->p.settings->reuse && b->p.settings->in_place;
}

/* The slot whose value becomes the next one of `slot` unchanged; UINT32_MAX: the next value is
 * computed. */
static uint32_t taken_from(const takt_builder *b, size_t slot)
{
    const takt_graph *g = b->p.graph;
    size_t bytes, room;
    if (!b->p.plan->slots[slot].is_changed || b->root_offset[g->slots[slot].next] != 0)
        return UINT32_MAX;
    const takt_id root = b->root[g->slots[slot].next];
    if (g->nodes[root].op != &takt_op_state || !takt_type_bytes(g->nodes[root].type, &bytes) ||
        !takt_type_bytes(&g->slots[slot].type, &room) || bytes != room)
        return UINT32_MAX;
    return b->port_of[root];
}

/* Follows every slot to its source until it meets a visited one: if that was visited in the same
 * traversal, a ring begins there. */
takt_status takt_builder_find_rings(takt_builder *b)
{
    const size_t count = b->p.graph->slot_count;
    takt_plan_slot *slots = b->p.plan->slots;
    uint32_t *from = takt_arena_array(&b->scratch, count, sizeof *from);
    size_t *walk = takt_arena_array(&b->scratch, count, sizeof *walk); /* 0: not met */
    if (from == NULL || walk == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        from[i] = may_exchange(b) ? taken_from(b, i) : UINT32_MAX;
        slots[i].from = UINT32_MAX;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t at = (uint32_t)i;
        for (; at != UINT32_MAX && walk[at] == 0; at = from[at])
            walk[at] = i + 1;
        if (at != UINT32_MAX && walk[at] == i + 1)
            slots[at].leads_ring = true;
        for (; at != UINT32_MAX && walk[at] == i + 1 && slots[at].from == UINT32_MAX; at = from[at])
            slots[at].from = from[at];
    }
    return TAKT_OK;
}

takt_status takt_builder_find_slots(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    takt_plan *plan = b->p.plan;
    unsigned char *readers = NULL;
    if (g->slot_count == 0)
        return TAKT_OK;
    plan->slots = takt_arena_array(&plan->arena, g->slot_count, sizeof *plan->slots);
    b->next_of = takt_arena_array(&b->scratch, g->count, sizeof *b->next_of);
    if (plan->slots == NULL || b->next_of == NULL)
        return TAKT_ERR_MEMORY;
    memset(b->next_of, 0xff, g->count * sizeof *b->next_of);
    if (b->copy_in[TAKT_HOST] != NULL)
        TAKT_TRY(find_readers(b, &readers));
    for (size_t i = g->slot_count; i-- > 0;) {
        const takt_slot *slot = &g->slots[i];
        takt_plan_slot *own = &plan->slots[i];
        own->is_changed = slot->next != TAKT_NONE && b->root[slot->next] != slot->value;
        if (own->is_changed && b->root_offset[slot->next] == 0)
            b->next_of[b->root[slot->next]] = (uint32_t)i;
        if (readers != NULL)
            own->space = space_of(b, slot, own->is_changed, readers);
    }
    for (size_t i = 0; readers != NULL && i < g->slot_count; i++)
        b->space_of[g->slots[i].value] = plan->slots[i].space;
    for (size_t i = 0; readers != NULL && i < g->count; i++)
        if (b->is_alias[i] && g->nodes[b->root[i]].op == &takt_op_state)
            b->space_of[i] = b->space_of[b->root[i]];
    return TAKT_OK;
}

bool takt_state_swaps(const takt_builder *b, takt_id root, uint32_t *slot)
{
    const takt_graph *g = b->p.graph;
    size_t bytes, room;
    if (g->slot_count == 0 || b->in_prologue || !may_exchange(b) ||
        b->next_of[root] == UINT32_MAX || b->is_constant[root] ||
        (g->nodes[root].op->traits & TAKT_LEAF) != 0)
        return false;
    *slot = b->next_of[root];
    return takt_type_bytes(takt_type_of(g, root), &bytes) &&
           takt_type_bytes(&g->slots[*slot].type, &room) && bytes == room &&
           takt_builder_direct_output(b, root, bytes) < 0;
}
