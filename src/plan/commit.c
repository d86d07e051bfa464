/* commit.c - state that is overwritten by the step that computes its next value.
 *
 * Steps that overwrite visible state run last, in a phase that cannot fail. A copy can do that, and
 * so can an element-wise step: it reads an element of the old state before it writes the new one.
 * Groups whose values are needed only as next values of slots are moved there, joined where one
 * reads the other, and overwrite the state: an optimiser's update is one step without a copy. */
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "plan/builder.h"
#include "plan/group.h"

typedef struct committer {
    takt_builder *b;
    unsigned char *may; /* per group: it may run in the commit phase */
    int32_t *set;       /* per group: the first group of the set that is merged */
    takt_id *readers;   /* nodes that read state, themselves or a view of it */
    size_t reader_count;
} committer;

static bool same_shape(const takt_type *x, const takt_type *y)
{
    return x->rank == y->rank && memcmp(x->dim, y->dim, (size_t)x->rank * sizeof *x->dim) == 0;
}

/* Element-wise on floats, which cannot fault, by a backend whose steps cannot fail. */
static bool is_plain(const takt_builder *b, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    const takt_backend *backend = takt_builder_backend(b, group->nodes[0]);
    bool is_plain = group->is_map && !b->is_constant[group->nodes[0]] && !backend->is_reference;
    for (size_t i = 0; is_plain && i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        is_plain = takt_dtype_is_float(n->type->dtype) &&
                   b->root[group->nodes[i]] == group->nodes[i] &&
                   same_shape(n->type, g->nodes[group->nodes[0]].type);
        for (uint32_t k = 0; is_plain && k < n->in_count; k++)
            is_plain = n->in[k] != TAKT_NONE;
    }
    return is_plain;
}

static void refuse(const committer *c, takt_id node)
{
    if (c->b->group_index[node] >= 0)
        c->may[c->b->group_index[node]] = 0;
}

/* Numbers that updates of several slots share, such as a rate times a decay, would join them all
 * into one set; they are computed before. */
static void refuse_scalars(const committer *c)
{
    const takt_builder *b = c->b;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < b->group_count; i++)
        c->may[i] &= g->nodes[b->groups[i].nodes[0]].type->rank > 0;
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_id next = g->slots[i].next;
        if (next != TAKT_NONE && b->group_index[next] >= 0 && g->nodes[next].type->rank == 0)
            c->may[b->group_index[next]] = is_plain(b, &b->groups[b->group_index[next]]);
    }
}

/* Refuses groups whose value is needed before the commit phase: readers of a group have a higher
 * number. */
static void find_last_groups(const committer *c)
{
    const takt_builder *b = c->b;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < b->group_count; i++)
        c->may[i] = is_plain(b, &b->groups[i]);
    refuse_scalars(c);
    for (size_t i = 0; i < g->output_count; i++)
        refuse(c, b->root[g->outputs[i].id]);
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE && b->root[g->slots[i].next] != g->slots[i].next)
            refuse(c, b->root[g->slots[i].next]);
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && b->group_index[i] < 0 && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                refuse(c, g->nodes[i].in[k]);
    for (size_t i = b->group_count; i-- > 0;)
        for (size_t j = 0; !c->may[i] && j < b->groups[i].count; j++) {
            const takt_node *n = &g->nodes[b->groups[i].nodes[j]];
            for (uint32_t k = 0; k < n->in_count; k++)
                if (n->in[k] != TAKT_NONE && b->group_index[n->in[k]] != (int32_t)i)
                    refuse(c, n->in[k]);
        }
}

/* ---- sets ---- */

static int32_t first_of(const committer *c, int32_t group)
{
    while (c->set[group] != group)
        group = c->set[group];
    return group;
}

static void unite(const committer *c, int32_t x, int32_t y)
{
    const int32_t a = first_of(c, x), b = first_of(c, y);
    c->set[a < b ? b : a] = a < b ? a : b;
}

static void find_sets(const committer *c)
{
    const takt_builder *b = c->b;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < b->group_count; i++)
        c->set[i] = (int32_t)i;
    for (size_t i = 0; i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && b->group_index[i] >= 0 && k < g->nodes[i].in_count;
             k++) {
            const takt_id in = g->nodes[i].in[k];
            if (in != TAKT_NONE && b->group_index[in] >= 0 && c->may[b->group_index[i]] &&
                c->may[b->group_index[in]])
                unite(c, b->group_index[i], b->group_index[in]);
        }
}

static void find_readers(committer *c)
{
    const takt_builder *b = c->b;
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < g->count; i++) {
        bool reads = false;
        for (uint32_t k = 0; b->live[i] && b->group_index[i] >= 0 && k < g->nodes[i].in_count; k++)
            reads |= g->nodes[i].in[k] != TAKT_NONE &&
                     g->nodes[b->root[g->nodes[i].in[k]]].op == &takt_op_state;
        if (reads)
            c->readers[c->reader_count++] = (takt_id)i;
    }
}

static bool is_in(const committer *c, takt_id node, int32_t set)
{
    const int32_t group = c->b->group_index[node];
    return group >= 0 && c->may[group] && first_of(c, group) == set;
}

/* Whether the old value of a slot is read only before it is overwritten. */
static bool is_read_before(const committer *c, const takt_slot *slot, int32_t set)
{
    const takt_builder *b = c->b;
    const takt_graph *g = b->p.graph;
    for (size_t r = 0; r < c->reader_count; r++) {
        const takt_id i = c->readers[r];
        for (uint32_t k = 0; c->may[b->group_index[i]] && k < g->nodes[i].in_count; k++) {
            const takt_id in = g->nodes[i].in[k];
            if (in != TAKT_NONE && b->root[in] == slot->value &&
                (!is_in(c, i, set) || in != slot->value || i > slot->next))
                return false;
        }
    }
    return true;
}

static bool is_good(const committer *c, int32_t set)
{
    const takt_builder *b = c->b;
    const takt_graph *g = b->p.graph;
    const takt_type *type = g->nodes[b->groups[set].nodes[0]].type;
    size_t nodes = 0, slots = 0;
    for (size_t i = (size_t)set; i < b->group_count; i++) {
        if (!c->may[i] || first_of(c, (int32_t)i) != set)
            continue;
        nodes += b->groups[i].count;
        if (!same_shape(g->nodes[b->groups[i].nodes[0]].type, type) ||
            takt_builder_backend(b, b->groups[i].nodes[0]) !=
                takt_builder_backend(b, b->groups[set].nodes[0]))
            return false;
    }
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *slot = &g->slots[i];
        if (slot->next == TAKT_NONE || !is_in(c, slot->next, set))
            continue;
        slots++;
        if (b->p.plan->slots[i].space != b->space_of[slot->next] || !is_read_before(c, slot, set))
            return false;
    }
    return slots > 0 && nodes <= TAKT_GROUP_LONGEST;
}

/* ---- new groups ---- */

/* All nodes of a set, in the order of the graph. */
static takt_status merge(const committer *c, int32_t set, takt_group *to, takt_cost *cost)
{
    takt_builder *b = c->b;
    takt_id *nodes = takt_arena_array(&b->scratch, TAKT_GROUP_LONGEST, sizeof *nodes);
    if (nodes == NULL)
        return TAKT_ERR_MEMORY;
    *to = (takt_group){.nodes = nodes, .is_map = true, .is_commit = true};
    *cost = (takt_cost){0};
    for (size_t i = (size_t)set; i < b->group_count; i++) {
        if (!c->may[i] || first_of(c, (int32_t)i) != set)
            continue;
        cost->flops += b->costs[i].flops;
        cost->bytes += b->costs[i].bytes;
        for (size_t k = 0; k < b->groups[i].count; k++) {
            size_t at = to->count++;
            for (; at > 0 && b->groups[i].nodes[k] < nodes[at - 1]; at--)
                nodes[at] = nodes[at - 1];
            nodes[at] = b->groups[i].nodes[k];
        }
    }
    return TAKT_OK;
}

/* Those of the commit phase last, each set as one. */
static takt_status renumber(const committer *c)
{
    takt_builder *b = c->b;
    const size_t count = b->group_count;
    takt_group *groups = takt_arena_array(&b->scratch, count, sizeof *groups);
    takt_cost *costs = takt_arena_array(&b->scratch, count, sizeof *costs);
    size_t made = 0;
    if (groups == NULL || costs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        if (!c->may[i]) {
            groups[made] = b->groups[i];
            costs[made++] = b->costs[i];
        }
    for (size_t i = 0; i < count; i++)
        if (c->may[i] && c->set[i] == (int32_t)i) {
            TAKT_TRY(merge(c, (int32_t)i, &groups[made], &costs[made]));
            made++;
        }
    memcpy(b->groups, groups, made * sizeof *groups);
    memcpy(b->costs, costs, made * sizeof *costs);
    b->group_count = made;
    for (size_t i = 0; i < made; i++)
        for (size_t k = 0; k < b->groups[i].count; k++)
            b->group_index[b->groups[i].nodes[k]] = (int32_t)i;
    return TAKT_OK;
}

takt_status takt_builder_commit(takt_builder *b)
{
    const takt_plan_settings *settings = b->p.settings;
    if (b->p.graph->slot_count == 0 || !settings->fuse || !settings->reuse || !settings->in_place ||
        b->group_count == 0)
        return TAKT_OK;
    committer c = {.b = b};
    c.may = takt_arena_array(&b->scratch, b->group_count, 1);
    c.set = takt_arena_array(&b->scratch, b->group_count, sizeof *c.set);
    c.readers = takt_arena_array(&b->scratch, b->p.graph->count, sizeof *c.readers);
    if (c.may == NULL || c.set == NULL || c.readers == NULL)
        return TAKT_ERR_MEMORY;
    find_last_groups(&c);
    find_readers(&c);
    find_sets(&c);
    bool any = false;
    for (size_t i = 0; i < b->group_count; i++) {
        if (!c.may[i] || c.set[i] != (int32_t)i)
            continue;
        const bool is_kept = is_good(&c, (int32_t)i);
        any |= is_kept;
        for (size_t k = b->group_count; !is_kept && k-- > i;)
            if (first_of(&c, (int32_t)k) == (int32_t)i)
                c.may[k] = 0;
    }
    return any ? renumber(&c) : TAKT_OK;
}

takt_status takt_builder_write_state(takt_builder *b, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = g->slot_count; group->is_commit && i-- > 0;) {
        const takt_slot *slot = &g->slots[i];
        if (slot->next == TAKT_NONE || b->group_index[slot->next] < 0 ||
            &b->groups[b->group_index[slot->next]] != group ||
            !takt_type_same(g->dims, &slot->type, g->nodes[slot->next].type))
            continue;
        takt_buffer made = {.place = TAKT_PLACE_STATE,
                            .space = b->space,
                            .index = (uint32_t)i,
                            .first = b->step_index,
                            .last = b->step_index,
                            .value = slot->next};
        if (!takt_type_bytes(&slot->type, &made.bytes))
            return takt_fail(b->p.ctx, TAKT_E_OVERFLOW, "state %s is too large", slot->name);
        TAKT_TRY(takt_builder_new_buffer(b, made, &b->p.plan->buffer_of[slot->next]));
    }
    return TAKT_OK;
}
