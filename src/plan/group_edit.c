/* group_edit.c - adding nodes to groups, moving groups, and joining two of them. */
#include "plan/group.h"

#include <string.h>

#include "base/mem.h"
#include "op/ops.h"
#include "plan/finish.h"
#include "plan/fusion.h"

bool takt_group_same_shape(const takt_type *a, const takt_type *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

takt_status takt_group_join(takt_builder *b, takt_group *group, takt_id id)
{
    enum { FIRST = 4 };
    if (group->count >= FIRST && (group->count & (group->count - 1)) != 0) {
        group->nodes[group->count++] = id;
        return TAKT_OK;
    }
    const size_t capacity = group->count < FIRST ? FIRST : 2 * group->count;
    if (group->count > 0 && group->count < FIRST) {
        group->nodes[group->count++] = id;
        return TAKT_OK;
    }
    takt_id *nodes = takt_arena_array(&b->scratch, capacity, sizeof *nodes);
    if (nodes == NULL)
        return TAKT_ERR_MEMORY;
    if (group->count > 0)
        memcpy(nodes, group->nodes, group->count * sizeof *nodes);
    group->nodes = nodes;
    group->nodes[group->count++] = id;
    return TAKT_OK;
}

static int32_t renumbered(int32_t group, int32_t from, int32_t last)
{
    return group == from ? last : group > from ? group - 1 : group;
}

/* Merges group `from` into group `to`, numbered as if `from` were gone; nodes from `end` on have no
 * group yet. A group that was moved to the end has nodes older than its neighbours'. */
static void renumber(takt_builder *b, int32_t from, int32_t to, takt_id end)
{
    takt_id first = end;
    for (size_t i = (size_t)from; i < b->group_count; i++)
        first = b->groups[i].nodes[0] < first ? b->groups[i].nodes[0] : first;
    for (takt_id i = first; i < end; i++) {
        b->group_index[i] = renumbered(b->group_index[i], from, to);
        b->ready[i] = renumbered(b->ready[i], from, to);
    }
    for (size_t i = (size_t)from; i + 1 < b->group_count; i++) {
        b->groups[i] = b->groups[i + 1];
        b->costs[i] = b->costs[i + 1];
    }
}

void takt_group_make_last(takt_builder *b, int32_t from, takt_id id)
{
    const int32_t last = (int32_t)b->group_count - 1;
    const takt_group group = b->groups[from];
    const takt_cost cost = b->costs[from];
    renumber(b, from, last, id);
    b->groups[last] = group;
    b->costs[last] = cost;
}

/* ---- two branches of element-wise nodes that begin at the same value ---- */

static bool reads(const takt_graph *g, const takt_group *group, takt_id value)
{
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] == value)
                return true;
    }
    return false;
}

/* No memory is kept for it, or little. */
static bool is_always_there(const takt_builder *b, takt_id id)
{
    const takt_node *n = &b->p.graph->nodes[id];
    return b->is_constant[id] || n->op == &takt_op_input || n->type->rank == 0;
}

/* Whether `group` reads all inputs of `branch` anyway, so that no value must be kept longer, and
 * only `branch` itself and one reader of `result` read its values. */
static bool is_branch(const takt_builder *b, const takt_group *branch, const takt_group *group,
                      takt_id result)
{
    const takt_graph *g = b->p.graph;
    const int32_t own = b->group_index[result];
    for (size_t i = 0; i < branch->count; i++) {
        const takt_id id = branch->nodes[i];
        uint32_t inside = id == result;
        for (size_t k = i + 1; k < branch->count; k++) {
            const takt_node *reader = &g->nodes[branch->nodes[k]];
            for (uint32_t j = 0; j < reader->in_count; j++)
                inside += reader->in[j] == id;
        }
        if (inside != b->uses[id])
            return false;
        const takt_node *n = &g->nodes[id];
        for (uint32_t k = 0; k < n->in_count; k++) {
            const takt_id in = n->in[k];
            if (in != TAKT_NONE && b->group_index[in] != own && !is_always_there(b, in) &&
                !reads(g, group, in))
                return false;
        }
    }
    return true;
}

static bool can_take(const takt_builder *b, takt_id id, takt_id result)
{
    const takt_graph *g = b->p.graph;
    const takt_group *group = &b->groups[b->group_index[id]];
    const takt_group *branch = &b->groups[b->group_index[result]];
    const takt_id first = group->nodes[0], other = branch->nodes[0];
    return group->is_map && branch->is_map && branch != group && id - other <= TAKT_GROUP_REACH &&
           group->count + branch->count <= TAKT_GROUP_LONGEST &&
           takt_group_same_shape(g->nodes[first].type, g->nodes[other].type) &&
           b->is_constant[first] == b->is_constant[other] && !takt_is_widening(b, other) &&
           (b->latest == NULL || b->latest[first] == b->latest[other]) &&
           (b->forward == NULL || b->forward[first] == b->forward[other]) &&
           takt_builder_backend(b, first) == takt_builder_backend(b, other) &&
           is_branch(b, branch, group, result);
}

/* Nodes stay in the order of the graph. */
static takt_status merge_nodes(takt_builder *b, takt_group *group, const takt_group *branch)
{
    takt_group both = {.is_map = true};
    for (size_t i = 0, k = 0; i < group->count || k < branch->count;) {
        const bool is_first =
            k == branch->count || (i < group->count && group->nodes[i] < branch->nodes[k]);
        TAKT_TRY(takt_group_join(b, &both, is_first ? group->nodes[i] : branch->nodes[k]));
        i += is_first;
        k += !is_first;
    }
    *group = both;
    return TAKT_OK;
}

/* Node `id`, which has joined a group, also reads `result`: the branch that computes it becomes
 * part of the group, and the value is never stored. */
static takt_status take_branch(takt_builder *b, takt_id id, takt_id result)
{
    const int32_t at = b->group_index[id], from = b->group_index[result];
    takt_group *group = &b->groups[at];
    const takt_group branch = b->groups[from];
    takt_fusion fusion = takt_fusion_between(b, id, result, &b->costs[at], &b->costs[from]);
    if (fusion.gain < b->p.settings->min_gain)
        return TAKT_OK;
    takt_fusion_note(b, &fusion);
    TAKT_TRY(merge_nodes(b, group, &branch));
    b->costs[at].flops += b->costs[from].flops;
    b->costs[at].bytes += b->costs[from].bytes - fusion.bytes;
    renumber(b, from, at - 1, id + 1);
    b->group_count--;
    return TAKT_OK;
}

takt_status takt_group_take_branches(takt_builder *b, takt_id id)
{
    const takt_node *n = &b->p.graph->nodes[id];
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_id in = n->in[k];
        if (in != TAKT_NONE && b->group_index[in] != TAKT_NO_GROUP && b->uses[in] == 1 &&
            can_take(b, id, in))
            TAKT_TRY(take_branch(b, id, in));
    }
    return TAKT_OK;
}
