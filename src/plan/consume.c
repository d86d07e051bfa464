/* consume.c - constants of a model that is not wanted any more are given back while the plan is
 * made: as soon as the last group that reads one is compiled, what is packed of it is all there is.
 * So weights and their packed forms are never all there at the same time.
 */
#include <string.h>

#include "ir/held.h"
#include "ir/leaves.h"
#include "plan/builder.h"

static bool consumes(const takt_builder *b)
{
    return b->p.settings->consumes && !b->p.settings->is_dry && b->p.graph->check_count == 0;
}

static void count_group(takt_builder *b, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                b->reads[b->root[n->in[k]]]++;
    }
}

takt_status takt_builder_count_reads(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    if (!consumes(b))
        return TAKT_OK;
    b->reads = takt_arena_array(&b->scratch, g->count, sizeof *b->reads);
    if (b->reads == NULL)
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
        takt_tensor_release(&plan->constants[plan->buffers[buffer].index]);
    if (n->op == &takt_op_constant) /* the graph's own reference; its arena has the tensor */
        takt_tensor_release((takt_tensor *)(uintptr_t)n->attr[0].tensor);
}

void takt_builder_consume(takt_builder *b, const takt_group *group, const takt_step *step)
{
    const takt_graph *g = b->p.graph;
    if (b->reads == NULL)
        return;
    for (size_t i = 0; !b->in_prologue && i < step->in_count; i++)
        if (b->p.plan->buffers[step->in[i].buffer].place == TAKT_PLACE_CONSTANT)
            b->p.plan->buffers[step->in[i].buffer].first = 0;
    for (size_t i = 0; i < group->count; i++) {
        const takt_node *n = &g->nodes[group->nodes[i]];
        for (uint32_t k = 0; k < n->in_count; k++) {
            const takt_id root = n->in[k] == TAKT_NONE ? TAKT_NONE : b->root[n->in[k]];
            if (root != TAKT_NONE && b->is_constant[root] && b->reads[root] > 0 &&
                --b->reads[root] == 0)
                drop(b, root);
        }
    }
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
