/* derived.c - transposes and casts of weights that are state.
 *
 * Steps that pack such a value read its packed form, which changes only when the weight does
 * (forms.c), so that most runs do not need the value itself. Its group has no fixed place among the
 * steps: it is compiled where a form is made, and right before a step that requests the value
 * itself. */
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "plan/answers.h"
#include "plan/builder.h"

/* The number of steps after the state: 0 for the state itself, and more than the maximum for values
 * not derived from it. */
static int depth_of(const takt_builder *b, takt_id node)
{
    const takt_id root = b->root[node];
    return takt_state_has_forms(b, root) ? 0
           : b->is_derived[root] > 0     ? b->is_derived[root]
                                         : TAKT_DERIVED_MOST;
}

/* A separate step that moves or converts floats of a weight, and cannot fail. */
static bool may_derive(const takt_builder *b, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    const takt_id id = group->nodes[0];
    const takt_node *n = &g->nodes[id];
    const bool is_known = n->op == &takt_op_transpose || n->op == &takt_op_cast;
    return is_known && group->count == 1 && !group->is_commit && b->live[id] &&
           !b->is_constant[id] && b->root[id] == id && b->output_of[id] == UINT32_MAX &&
           b->next_of[id] == UINT32_MAX && takt_dtype_is_float(n->type->dtype) &&
           takt_dtype_is_float(takt_type_of(g, n->in[0])->dtype) &&
           depth_of(b, n->in[0]) < TAKT_DERIVED_MOST;
}

/* Element-wise and early readers read the values themselves. */
static bool may_pack(const takt_builder *b, takt_id reader)
{
    const takt_node *n = &b->p.graph->nodes[reader];
    const int32_t group = b->group_index[reader];
    if (group < 0)
        return true;
    return b->is_derived[reader] ||
           (!b->groups[group].is_map && !b->groups[group].is_commit &&
            n->op != &takt_op_transpose && (n->op->traits & TAKT_ELEMENTWISE) == 0);
}

static void refuse_read(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = g->count; i-- > 0;)
        for (uint32_t k = 0; b->live[i] && !may_pack(b, (takt_id)i) && k < g->nodes[i].in_count;
             k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                b->is_derived[b->root[g->nodes[i].in[k]]] = 0;
    for (size_t i = 0; i < g->output_count; i++)
        b->is_derived[b->root[g->outputs[i].id]] = 0;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            b->is_derived[b->root[g->slots[i].next]] = 0;
}

/* A value made from one that is read directly does not count as made from the state. */
static bool refuse_orphans(takt_builder *b)
{
    bool any = false;
    for (size_t i = 0; i < b->group_count; i++) {
        const takt_id node = b->groups[i].nodes[0];
        if (b->is_derived[node] == 0 ||
            depth_of(b, b->p.graph->nodes[node].in[0]) < TAKT_DERIVED_MOST)
            continue;
        b->is_derived[node] = 0;
        any = true;
    }
    return any;
}

takt_status takt_builder_mark_derived(takt_builder *b)
{
    const size_t count = b->p.graph->count;
    b->is_derived = takt_arena_array(&b->scratch, count, 1);
    b->asked = takt_arena_array(&b->scratch, count, sizeof *b->asked);
    if (b->is_derived == NULL || b->asked == NULL)
        return TAKT_ERR_MEMORY;
    if (b->p.graph->slot_count == 0 || b->copy_in[TAKT_HOST] != NULL)
        return TAKT_OK;
    bool any = false;
    for (size_t i = 0; i < b->group_count; i++) {
        const takt_id node = b->groups[i].nodes[0];
        if (!may_derive(b, &b->groups[i]))
            continue;
        b->is_derived[node] = (unsigned char)(depth_of(b, b->p.graph->nodes[node].in[0]) + 1);
        any = true;
    }
    while (any) { /* each that is dropped reads its source directly */
        refuse_read(b);
        any = refuse_orphans(b);
    }
    return TAKT_OK;
}

/* ---- steps that request the value itself ---- */

static bool is_missing(const takt_builder *b, takt_id root)
{
    return b->is_derived[root] && b->p.plan->buffer_of[root] == UINT32_MAX;
}

void takt_builder_ask(takt_builder *b, takt_id root)
{
    if (is_missing(b, root) && &b->groups[b->group_index[root]] != b->p.group)
        b->asked[b->asked_count++] = root;
}

static bool is_before(const void *x, const void *y)
{
    return (const char *)x < (const char *)y;
}

/* Their groups, and those of their sources, in the order of the graph. */
static takt_status list_asked(takt_builder *b, const takt_group ***groups, size_t *count)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; i < b->asked_count; i++) {
        const takt_id from = b->root[g->nodes[b->asked[i]].in[0]];
        bool is_there = !is_missing(b, from);
        for (size_t k = 0; k < b->asked_count; k++)
            is_there |= b->asked[k] == from;
        if (!is_there)
            b->asked[b->asked_count++] = from;
    }
    *count = b->asked_count;
    *groups = takt_arena_array(&b->scratch, *count, sizeof **groups);
    if (*groups == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < *count; i++)
        (*groups)[i] = &b->groups[b->group_index[b->asked[i]]];
    takt_sort_pointers((const void **)*groups, *count, is_before);
    b->asked_count = 0;
    return TAKT_OK;
}

/* The step being compiled, currently the last, moves `count` steps later. */
static void move_on(takt_builder *b, int count)
{
    takt_plan *plan = b->p.plan;
    const int at = b->step_index;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        plan->buffers[i].first += plan->buffers[i].first == at ? count : 0;
        plan->buffers[i].last += plan->buffers[i].last == at ? count : 0;
    }
}

takt_status takt_builder_make_asked(takt_builder *b)
{
    const takt_group **groups;
    size_t count;
    if (b->asked_count == 0)
        return TAKT_OK;
    TAKT_TRY(list_asked(b, &groups, &count));
    const takt_builder was = *b;
    takt_status status = TAKT_OK;
    takt_answers_give_up(b); /* the order of replayed steps would change */
    b->answers = NULL;
    move_on(b, (int)count);
    for (size_t i = 0; status == TAKT_OK && i < count; i++) {
        const uint32_t buffer = b->p.plan->buffer_of[groups[i]->nodes[0]];
        if (buffer != UINT32_MAX) /* it was promised */
            b->p.plan->buffers[buffer].first = (int)b->p.plan->step_count;
        status = takt_builder_compile(b, groups[i]);
    }
    b->answers = was.answers;
    b->p.step = was.p.step;
    b->p.group = was.p.group;
    b->in_prologue = was.in_prologue;
    b->space = was.space;
    b->step_index = was.step_index + (int)count;
    b->in_capacity = was.in_capacity;
    b->out_capacity = was.out_capacity;
    return status;
}
