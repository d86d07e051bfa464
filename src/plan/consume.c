/* consume.c - frees constants that steps do not read themselves, and those of a model that is no
 * longer needed, while the plan is made: as soon as the last group that reads one is compiled, only
 * its packed form is left. So weights and their packed forms never all exist at the same time. A
 * constant made of others, such as a weight in a wider type, is often not made at all, because
 * steps read its sources; these are freed as soon as nothing can request it any more. */
#include <string.h>

#include "ir/held.h"
#include "ir/leaves.h"
#include "plan/builder.h"

/* Clauses that name their sides, and sizes that a run finds, may request anything. If steps are
 * resized, constants that depend on sizes are recomputed from their sources. */
static bool counts(const takt_builder *b)
{
    return !b->p.settings->is_dry && b->p.graph->check_count == 0 && b->latest == NULL &&
           b->sized == NULL;
}

/* The root that a group reads from outside, or TAKT_NONE. */
static takt_id read_root(const takt_builder *b, const takt_group *group, takt_id in)
{
    const takt_id root = in == TAKT_NONE ? TAKT_NONE : b->root[in];
    return root == TAKT_NONE || takt_builder_maker(b, root) == group - b->groups ? TAKT_NONE : root;
}

static void count_group(takt_builder *b, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++) {
            const takt_id root = read_root(b, group, n->in[k]);
            if (root != TAKT_NONE)
                b->reads[root]++;
        }
    }
}

takt_status takt_builder_count_reads(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    if (!counts(b))
        return TAKT_OK;
    b->reads = takt_arena_array(&b->scratch, g->count, sizeof *b->reads);
    b->unasked = takt_arena_array(&b->scratch, b->group_count, sizeof *b->unasked);
    b->keeps_source = takt_arena_array(&b->scratch, b->group_count, sizeof *b->keeps_source);
    if (b->reads == NULL || b->unasked == NULL || b->keeps_source == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < b->sequence_count; i++)
        if (!b->is_constant[b->groups[b->sequence[i]].nodes[0]])
            count_group(b, &b->groups[b->sequence[i]]);
    for (size_t i = 0; i < b->group_count; i++)
        if (b->is_constant[b->groups[i].nodes[0]])
            count_group(b, &b->groups[i]);
    for (size_t i = 0; i < g->output_count; i++)
        b->reads[b->root[g->outputs[i].id]]++; /* copied in the end */
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            b->reads[b->root[g->slots[i].next]]++;
    return TAKT_OK;
}

/* `first` of a constant's buffer is 0 once a step of the run reads it. */
static void drop(takt_builder *b, takt_id root)
{
    takt_plan *plan = b->p.plan;
    const takt_node *n = &b->p.graph->nodes[root];
    const uint32_t buffer = plan->buffer_of[root];
    size_t bytes;
    if (!takt_type_bytes(n->type, &bytes) || bytes < TAKT_STRIP_LEAST)
        return;
    if (buffer != UINT32_MAX && plan->buffers[buffer].place == TAKT_PLACE_CONSTANT &&
        plan->buffers[buffer].first < 0)
        takt_builder_set_aside(b, &plan->constants[plan->buffers[buffer].index]);
    if (n->op == &takt_op_constant && b->p.settings->consumes)
        /* the graph's own reference; its arena has the tensor */
        takt_tensor_release((takt_tensor *)(uintptr_t)n->attr[0].tensor);
}

/* Whether the group was not made, and nothing can still request one of its results. */
static bool is_unasked(const takt_builder *b, const takt_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        const takt_id node = group->nodes[i];
        if (b->root[node] != node || !b->is_late[node] || b->reads[node] > 0)
            return false;
        for (takt_id get = b->gets[node]; get != TAKT_NONE; get = b->next_get[get])
            if (b->root[get] != get || !b->is_late[get] || b->reads[get] > 0)
                return false;
    }
    return true;
}

/* Whether steps may read the source in 16 bits of a constant that the group makes, in its place,
 * and others than the step that it was made for are going to. Such a group has one node. */
static bool is_source_awaited(const takt_builder *b, const takt_group *group)
{
    return takt_is_widening(b, group->nodes[0]) && b->reads[group->nodes[0]] > 1;
}

/* One reader of a constant less. */
static void read_once(takt_builder *b, takt_id root, size_t *unasked)
{
    if (!b->is_constant[root] || b->reads[root] == 0 || --b->reads[root] > 0)
        return;
    const int32_t maker = takt_builder_maker(b, root);
    if (!b->is_late[root]) {
        drop(b, root);
        if (maker >= 0 && b->keeps_source[maker])
            b->unasked[(*unasked)++] = maker;
    } else if (maker >= 0 && is_unasked(b, &b->groups[maker]))
        b->unasked[(*unasked)++] = maker; /* once: its last reader is done */
}

static void read_inputs(takt_builder *b, const takt_group *group, size_t *unasked)
{
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &b->p.graph->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++) {
            const takt_id root = read_root(b, group, n->in[k]);
            if (root != TAKT_NONE)
                read_once(b, root, unasked);
        }
    }
}

void takt_builder_consume(takt_builder *b, const takt_group *group, const takt_step *step)
{
    size_t unasked = 0;
    if (b->reads == NULL)
        return;
    for (size_t i = 0; !b->in_prologue && i < step->in_count; i++)
        if (b->p.plan->buffers[step->in[i].buffer].place == TAKT_PLACE_CONSTANT)
            b->p.plan->buffers[step->in[i].buffer].first = 0;
    b->keeps_source[group - b->groups] = is_source_awaited(b, group);
    if (b->keeps_source[group - b->groups])
        return;
    read_inputs(b, group, &unasked);
    while (unasked > 0)
        read_inputs(b, &b->groups[b->unasked[--unasked]], &unasked);
}

bool takt_step_interprets(const takt_graph *g, const takt_step *step)
{
    if (!step->facts.is_generic && !step->backend->is_reference)
        return false;
    for (size_t i = 0; i < step->node_count; i++) {
        const takt_node *n = &g->nodes[step->nodes[i]];
        for (size_t k = 0; k < takt_op_attr_count(n->op); k++)
            if (n->op->attrs[k].type == TAKT_ATTR_GRAPH && n->attr[k].is_set)
                return true;
    }
    return false;
}
