/* group.c - which nodes become one step.
 *
 * One sweep in graph order. Groups are numbered as they are made, and every node's inputs lie in
 * groups with numbers no higher than its own; so a node may join the latest group among its
 * producers, and the numbering stays a valid order of execution. An earlier one it may join if
 * nothing else reads that one's result: then that group becomes the last.
 */
#include <string.h>

#include "base/mem.h"
#include "ir/before.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "plan/finish.h"
#include "plan/fusion.h"
#include "plan/group.h"
#include "plan/rematerialise.h"

/* Tiles cannot begin inside a byte, so ops on sub-byte types are separate steps. */
static bool is_map(const takt_graph *g, const takt_node *n)
{
    if ((n->op->traits & TAKT_ELEMENTWISE) == 0 && n->op != &takt_op_broadcast)
        return false;
    bool whole = takt_dtype_bits(n->type->dtype) >= 8;
    for (uint32_t k = 0; k < n->in_count && whole; k++)
        whole = n->in[k] == TAKT_NONE || takt_dtype_bits(takt_type_of(g, n->in[k])->dtype) >= 8;
    return whole;
}

static bool is_leaf(const takt_node *n)
{
    return n->op == &takt_op_input || n->op == &takt_op_constant || n->op == &takt_op_state ||
           n->op == &takt_op_get;
}

/* The group after which the node's value is complete; TAKT_NO_GROUP if it exists from the start. */
static int32_t ready_after(const takt_builder *b, takt_id id)
{
    const takt_node *n = &b->p.graph->nodes[id];
    if (b->group_index[id] != TAKT_NO_GROUP || (!b->is_alias[id] && n->op != &takt_op_get))
        return b->group_index[id];
    int32_t latest = TAKT_NO_GROUP;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (b->ready[n->in[k]] > latest)
            latest = b->ready[n->in[k]];
    return latest;
}

/* The latest group among the producers; `from` receives the input that comes from it. */
static int32_t latest_producer(const takt_builder *b, const takt_node *n, takt_id *from)
{
    int32_t latest = TAKT_NO_GROUP;
    *from = TAKT_NONE;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && b->ready[n->in[k]] > latest) {
            latest = b->ready[n->in[k]];
            *from = n->in[k];
        }
    return latest;
}

/* An input that is a view of the group's own result would be read before it is written. */
static bool reads_view(const takt_builder *b, const takt_node *n, int32_t group)
{
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && b->group_index[n->in[k]] == TAKT_NO_GROUP &&
            b->ready[n->in[k]] == group)
            return true;
    return false;
}

/* Why no node may join `group` if it is `id`; NULL if there is no such reason. */
static const char *general_obstacle(const takt_builder *b, takt_id id, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    if (!b->p.settings->fuse)
        return "fusion is off";
    if (takt_is_widening(b, group->nodes[0]))
        return "the weights may stay in 16 bits";
    if (group->count >= TAKT_GROUP_LONGEST)
        return "the step is long enough";
    if (reads_view(b, &g->nodes[id], (int32_t)(group - b->groups)))
        return "the value is reshaped, joined or one of several results in between";
    if (b->is_constant[id] != b->is_constant[group->nodes[0]])
        return "one side is computed once, when the plan is made";
    if (b->latest != NULL && b->latest[id] != b->latest[group->nodes[0]])
        return "its size is known later than that of the step before it";
    if (takt_builder_backend(b, id) != takt_builder_backend(b, group->nodes[0]))
        return "another backend runs the step before it";
    return NULL;
}

/* Whether all readers of the value are element-wise, and there are several. */
static bool has_element_wise_readers(const takt_builder *b, takt_id id)
{
    const takt_graph *g = b->p.graph;
    uint32_t found = 0;
    for (size_t i = (size_t)id + 1; i < g->count && found < b->uses[id]; i++) {
        const takt_node *n = &g->nodes[i];
        for (uint32_t k = 0; b->live[i] && k < n->in_count; k++) {
            if (n->in[k] == id && !is_map(g, n))
                return false;
            found += n->in[k] == id;
        }
    }
    return found > 1 && found == b->uses[id];
}

/* Whether the node divides by one value for all elements. */
static bool scales(const takt_graph *g, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    size_t count;
    return n->op == &takt_op_div && takt_type_count(takt_type_of(g, n->in[1]), &count) &&
           count == 1;
}

/* A value of f32 is rounded to 16 bits: the step after a product takes both casts or none, since
 * its result is f32. */
static const char *rounding_obstacle(const takt_builder *b, takt_id id, const takt_group *group)
{
    const takt_graph *g = b->p.graph;
    const takt_node *n = &g->nodes[id], *next = n + 1;
    if (n->op != &takt_op_cast || takt_dtype_bits(n->type->dtype) != 16)
        return NULL;
    const bool is_pair = (size_t)id + 1 < g->count && next->op == &takt_op_cast &&
                         next->in[0] == id && next->type->dtype == TAKT_F32;
    if (!is_pair || b->uses[id] != 1 || b->is_constant[id]) /* weights may stay in 16 bits */
        return "only f32 values are finished inside the step";
    return group->count + 2 > TAKT_GROUP_LONGEST || b->p.settings->min_gain > 0
               ? "the step is long enough"
               : NULL;
}

/* Why element-wise `id` may not join `group` through value `from`; NULL if it may. */
static const char *obstacle(const takt_builder *b, takt_id id, const takt_group *group,
                            takt_id from)
{
    const takt_graph *g = b->p.graph;
    const char *general = general_obstacle(b, id, group);
    if (general != NULL)
        return general;
    if (!takt_group_same_shape(g->nodes[id].type, takt_type_of(g, from)))
        return "the shapes differ";
    if (b->forward != NULL && b->forward[id] != b->forward[group->nodes[0]])
        return "it belongs to the backward pass, and would be kept until then";
    if (group->is_map)
        return NULL;
    if (b->uses[from] != 1)
        return "the value before it is used elsewhere too";
    if (scales(g, id) && has_element_wise_readers(b, id))
        return "the step of its readers divides at less cost";
    const takt_backend *backend = takt_builder_backend(b, id);
    if (backend->absorbs == NULL)
        return "the backend fuses nothing after it";
    const char *rounding = rounding_obstacle(b, id, group);
    if (rounding != NULL)
        return rounding;
    return backend->absorbs(g, group->nodes[group->anchor], id);
}

/* The same for one that is not element-wise; "" if it is not worth reporting. */
static const char *pair_obstacle(const takt_builder *b, takt_id id, const takt_group *group,
                                 takt_id from)
{
    const takt_backend *backend = takt_builder_backend(b, id);
    if (backend->continues == NULL || group->is_map || group->anchor > 0 || b->is_constant[id] ||
        b->uses[from] != 1 || group->nodes[group->count - 1] != from ||
        id - group->nodes[0] > TAKT_GROUP_REACH)
        return "";
    const char *why = backend->continues(&b->p, group, id);
    if (why != NULL && why[0] == '\0')
        return why;
    const char *general = general_obstacle(b, id, group);
    return general != NULL ? general : why;
}

bool takt_is_widening(const takt_builder *b, takt_id node)
{
    const takt_node *n = &b->p.graph->nodes[node];
    if (n->op != &takt_op_cast || !b->is_constant[node] || n->type->dtype != TAKT_F32)
        return false;
    const takt_dtype from = takt_type_of(b->p.graph, n->in[0])->dtype;
    return from == TAKT_F16 || from == TAKT_BF16;
}

static bool is_widened(const takt_graph *g, takt_id id)
{
    const takt_node *n = &g->nodes[id];
    return n->op == &takt_op_cast && n->type->dtype == TAKT_F32 &&
           takt_dtype_bits(takt_type_of(g, n->in[0])->dtype) == 16;
}

static takt_status start(takt_builder *b, takt_id id)
{
    takt_group *group = &b->groups[b->group_count];
    *group = (takt_group){.is_map = is_map(b->p.graph, &b->p.graph->nodes[id])};
    b->costs[b->group_count] = (takt_cost){0};
    takt_add_cost(b->p.graph, id, &b->costs[b->group_count]);
    b->group_index[id] = (int32_t)b->group_count++;
    return takt_group_join(b, group, id);
}

/* A second anchor joins the group that computes its first input, or starts one. */
static takt_status visit_anchor(takt_builder *b, takt_id id)
{
    const takt_node *n = &b->p.graph->nodes[id];
    const takt_id from = n->in_count > 0 ? n->in[0] : TAKT_NONE;
    const int32_t at = from != TAKT_NONE ? b->group_index[from] : TAKT_NO_GROUP;
    const char *refused = at == TAKT_NO_GROUP ? "" : pair_obstacle(b, id, &b->groups[at], from);
    if (refused != NULL && refused[0] == '\0')
        return start(b, id);
    takt_fusion fusion = takt_fusion_estimate(b, id, from, &b->costs[at]);
    fusion.refused = refused;
    if (refused == NULL && fusion.gain < b->p.settings->min_gain)
        fusion.refused = "the estimated gain is below min-gain";
    takt_fusion_note(b, &fusion);
    if (fusion.refused != NULL)
        return start(b, id);
    takt_group_make_last(b, at, id);
    const int32_t last = (int32_t)b->group_count - 1;
    takt_group *group = &b->groups[last];
    takt_fusion_join(b, &fusion, &b->costs[last]);
    group->anchor = group->count;
    b->group_index[id] = last;
    return takt_group_join(b, group, id);
}

/* An input of `id` that a group before `latest` computes for it alone: that group may run last. */
static takt_id earlier_producer(const takt_builder *b, takt_id id, int32_t latest)
{
    const takt_node *n = &b->p.graph->nodes[id];
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_id in = n->in[k];
        const int32_t at = in != TAKT_NONE ? b->group_index[in] : TAKT_NO_GROUP;
        if (at == TAKT_NO_GROUP || at >= latest || b->uses[in] != 1)
            continue;
        const takt_group *group = &b->groups[at];
        if (!group->is_map && group->nodes[group->count - 1] == in &&
            b->p.graph->nodes[group->nodes[0]].out_count == 1 &&
            id - group->nodes[0] <= TAKT_GROUP_REACH && obstacle(b, id, group, in) == NULL)
            return in;
    }
    return TAKT_NONE;
}

/* The latest producer takes nothing after it, as where a residual is padded or pooled: an earlier
 * product waits for it and adds it. `*is_joined`: it did. */
static takt_status join_earlier(takt_builder *b, takt_id id, int32_t latest, bool *is_joined)
{
    const takt_id from = earlier_producer(b, id, latest);
    *is_joined = false;
    if (from == TAKT_NONE)
        return TAKT_OK;
    takt_fusion fusion = takt_fusion_estimate(b, id, from, &b->costs[b->group_index[from]]);
    if (fusion.gain < b->p.settings->min_gain)
        return TAKT_OK;
    takt_fusion_note(b, &fusion);
    takt_group_make_last(b, b->group_index[from], id);
    const int32_t last = (int32_t)b->group_count - 1;
    takt_fusion_join(b, &fusion, &b->costs[last]);
    b->group_index[id] = last;
    *is_joined = true;
    return takt_group_join(b, &b->groups[last], id);
}

static takt_status visit(takt_builder *b, takt_id id)
{
    const takt_node *n = &b->p.graph->nodes[id];
    if (!is_map(b->p.graph, n))
        return visit_anchor(b, id);
    takt_id from;
    const int32_t latest = latest_producer(b, n, &from);
    if (latest == TAKT_NO_GROUP || takt_is_widening(b, id) ||
        (b->forward != NULL && is_widened(b->p.graph, id)))
        return start(b, id);
    takt_group *group = &b->groups[latest];
    takt_fusion fusion = takt_fusion_estimate(b, id, from, &b->costs[latest]);
    fusion.refused = obstacle(b, id, group, from);
    if (fusion.refused == NULL && fusion.gain < b->p.settings->min_gain)
        fusion.refused = "the estimated gain is below min-gain";
    takt_fusion_note(b, &fusion);
    if (fusion.refused != NULL) {
        bool is_joined;
        TAKT_TRY(join_earlier(b, id, latest, &is_joined));
        return is_joined ? TAKT_OK : start(b, id);
    }
    takt_fusion_join(b, &fusion, &b->costs[latest]);
    b->group_index[id] = latest;
    TAKT_TRY(takt_group_join(b, group, id));
    return takt_group_take_branches(b, id);
}

/* In mixed precision a value is kept in 16 bits from the forward to the backward pass, and each of
 * them widens it separately: a separate step, which can run twice. */
static takt_status find_forward(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    bool is_mixed = false;
    for (size_t i = 0; i < g->count && !is_mixed; i++)
        is_mixed = is_widened(g, (takt_id)i);
    if (!is_mixed || g->output_count == 0 || !takt_is_training_graph(g))
        return TAKT_OK;
    unsigned char *forward = takt_arena_array(&b->scratch, g->count, 1);
    if (forward == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_before(g, g->outputs[0].id, forward);
    b->forward = forward;
    return TAKT_OK;
}

takt_status takt_builder_group(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    TAKT_TRY(find_forward(b));
    b->groups = takt_arena_array(&b->scratch, g->count, sizeof *b->groups);
    b->group_index = takt_arena_array(&b->scratch, g->count, sizeof *b->group_index);
    b->costs = takt_arena_array(&b->scratch, g->count, sizeof *b->costs);
    b->ready = takt_arena_array(&b->scratch, g->count, sizeof *b->ready);
    if (b->groups == NULL || b->group_index == NULL || b->ready == NULL || b->costs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        b->group_index[i] = TAKT_NO_GROUP;
    for (size_t i = 0; i < g->count; i++) {
        if (b->live[i] && !is_leaf(&g->nodes[i]) && !b->is_alias[i])
            TAKT_TRY(visit(b, (takt_id)i));
        b->ready[i] = ready_after(b, (takt_id)i);
    }
    return TAKT_OK;
}
