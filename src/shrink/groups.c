/* groups.c - channels that can only be removed together: elements, sets, and the traversal of the
 * graph. */
#include "shrink/groups.h"

#include "base/mem.h"
#include "op/ops.h"

/* ---- setting up ---- */

/* A value of a body at its edge is read by the scan, which relates it to the values outside. */
static void each_edge(const takt_groups *g, uint32_t *counts, bool is_list)
{
    for (size_t i = 0; i < g->body_count; i++) {
        const takt_group_body *b = &g->bodies[i];
        for (size_t k = 0; k < b->graph->input_count + b->graph->output_count; k++) {
            const bool is_input = k < b->graph->input_count;
            const size_t id =
                b->first + (is_input ? b->graph->inputs[k].id
                                     : b->graph->outputs[k - b->graph->input_count].id);
            if (is_list)
                g->users[id][counts[id]] = b->scan;
            counts[id]++;
        }
    }
}

static void each_user(const takt_groups *g, uint32_t *counts, bool is_list)
{
    for (size_t i = 0; i < g->node_count; i++)
        for (uint32_t k = 0; g->live[i] && k < g->nodes[i].in_count; k++) {
            const takt_id in = g->nodes[i].in[k];
            if (in == TAKT_NONE)
                continue;
            if (is_list)
                g->users[in][counts[in]] = (takt_id)i;
            counts[in]++;
        }
    each_edge(g, counts, is_list);
}

static takt_status list_users(takt_groups *g)
{
    uint32_t *counts = takt_arena_array(&g->arena, g->node_count, sizeof *counts);
    g->users = takt_arena_array(&g->arena, g->node_count, sizeof *g->users);
    g->live = takt_arena_array(&g->arena, g->node_count, 1);
    if (counts == NULL || g->users == NULL || g->live == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_live(g->graph, g->live);
    for (size_t i = 0; i < g->body_count; i++)
        takt_graph_live(g->bodies[i].graph, g->live + g->bodies[i].first);
    each_user(g, counts, false);
    for (size_t i = 0; i < g->node_count; i++) {
        g->users[i] = takt_arena_array(&g->arena, counts[i] + 1, sizeof **g->users);
        if (g->users[i] == NULL)
            return TAKT_ERR_MEMORY;
        g->users[i][counts[i]] = TAKT_NONE;
        counts[i] = 0;
    }
    each_user(g, counts, true);
    return TAKT_OK;
}

takt_status takt_groups_init(takt_groups *g, const takt_graph *graph)
{
    *g = (takt_groups){.ctx = graph->ctx, .graph = graph};
    takt_arena_init(&g->arena, graph->ctx);
    size_t axes = 0;
    takt_status status = takt_groups_list_nodes(g);
    if (status == TAKT_OK)
        status = list_users(g);
    g->offsets = status == TAKT_OK
                     ? takt_arena_array(&g->arena, g->node_count + 1, sizeof *g->offsets)
                     : NULL;
    if (status == TAKT_OK && g->offsets == NULL)
        status = TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < g->node_count; i++) {
        g->offsets[i] = axes;
        axes += (size_t)g->nodes[i].type->rank;
    }
    g->index = status == TAKT_OK ? takt_arena_array(&g->arena, axes + 1, sizeof *g->index) : NULL;
    if (status == TAKT_OK && g->index == NULL)
        status = TAKT_ERR_MEMORY;
    if (status != TAKT_OK)
        takt_groups_deinit(g);
    return status;
}

void takt_groups_deinit(takt_groups *g)
{
    if (g->ctx == NULL)
        return;
    takt_mem_put(g->ctx, g->axes, g->axis_capacity * sizeof *g->axes);
    takt_mem_put(g->ctx, g->parent, g->element_capacity * sizeof *g->parent);
    takt_mem_put(g->ctx, g->blocked, g->blocked_capacity * sizeof *g->blocked);
    takt_mem_put(g->ctx, g->queue, g->queue_capacity * sizeof *g->queue);
    takt_arena_deinit(&g->arena);
    *g = (takt_groups){0};
}

/* ---- sets ---- */

static uint32_t root_of(takt_groups *g, uint32_t e)
{
    while (g->parent[e] != e) {
        g->parent[e] = g->parent[g->parent[e]];
        e = g->parent[e];
    }
    return e;
}

static void unite(takt_groups *g, uint32_t a, uint32_t b)
{
    a = root_of(g, a);
    b = root_of(g, b);
    if (a == b)
        return;
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    g->parent[high] = low;
    g->blocked[low] = g->blocked[low] || g->blocked[high];
}

/* ---- axes ---- */

static void push(takt_groups *g, takt_id id)
{
    void *queue = g->queue;
    if (g->status == TAKT_OK)
        g->status =
            takt_mem_grow(g->ctx, &queue, &g->queue_capacity, g->queue_count + 1, sizeof *g->queue);
    g->queue = queue;
    if (g->status == TAKT_OK)
        g->queue[g->queue_count++] = id;
}

static takt_group_axis *find(const takt_groups *g, takt_axis_ref at)
{
    const uint32_t entry = g->index[g->offsets[at.node] + (size_t)at.axis];
    return entry > 0 ? &g->axes[entry - 1] : NULL;
}

/* All readers of the value and its own node are visited again; so are both ends of a state. */
static void wake(takt_groups *g, takt_id id)
{
    push(g, id);
    for (const takt_id *user = g->users[id]; *user != TAKT_NONE; user++)
        push(g, *user);
}

static takt_group_axis *reach(takt_groups *g, takt_axis_ref at)
{
    const takt_dim size = g->nodes[at.node].type->dim[at.axis];
    takt_group_axis *axis = find(g, at);
    if (axis != NULL || g->status != TAKT_OK || !takt_dim_is_number(size) || size < 1 ||
        size > 1 << 20)
        return axis;
    void *axes = g->axes, *parent = g->parent, *blocked = g->blocked;
    const size_t elements = g->element_count + (size_t)size;
    g->status = takt_mem_grow(g->ctx, &axes, &g->axis_capacity, g->axis_count + 1, sizeof *g->axes);
    g->axes = axes;
    if (g->status == TAKT_OK)
        g->status =
            takt_mem_grow(g->ctx, &parent, &g->element_capacity, elements, sizeof *g->parent);
    g->parent = parent;
    if (g->status == TAKT_OK)
        g->status =
            takt_mem_grow(g->ctx, &blocked, &g->blocked_capacity, elements, sizeof *g->blocked);
    g->blocked = blocked;
    if (g->status != TAKT_OK)
        return NULL;
    for (size_t e = g->element_count; e < elements; e++) {
        g->parent[e] = (uint32_t)e;
        g->blocked[e] = false;
    }
    axis = &g->axes[g->axis_count++];
    *axis = (takt_group_axis){at, (uint32_t)g->element_count, (uint32_t)size};
    g->element_count = elements;
    g->index[g->offsets[at.node] + (size_t)at.axis] = (uint32_t)g->axis_count;
    wake(g, at.node);
    return axis;
}

bool takt_groups_is_active(const takt_groups *g, takt_axis_ref at)
{
    return find(g, at) != NULL;
}

void takt_groups_link(takt_groups *g, takt_axis_ref u, takt_axis_ref v, takt_axis_map map)
{
    if (!takt_groups_is_active(g, u) && !takt_groups_is_active(g, v))
        return;
    (void)reach(g, u); /* the list of axes may move */
    (void)reach(g, v);
    const takt_group_axis *a = find(g, u), *b = find(g, v);
    if (a == NULL || b == NULL) {
        takt_groups_block(g, u);
        takt_groups_block(g, v);
        return;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        const int64_t j = map.offset + map.mul * ((i / map.div) % map.mod);
        if (j >= 0 && j < b->count)
            unite(g, a->first + i, b->first + (uint32_t)j);
    }
}

void takt_groups_same(takt_groups *g, takt_axis_ref u, takt_axis_ref v)
{
    const takt_dim size = g->nodes[u.node].type->dim[u.axis];
    takt_groups_link(g, u, v, (takt_axis_map){1, size > 0 ? size : 1, 1, 0});
}

void takt_groups_block(takt_groups *g, takt_axis_ref at)
{
    const takt_group_axis *axis = find(g, at);
    for (uint32_t i = 0; axis != NULL && i < axis->count; i++)
        g->blocked[root_of(g, axis->first + i)] = true;
}

void takt_groups_block_all(takt_groups *g, takt_id node)
{
    for (int d = 0; d < g->nodes[node].type->rank; d++)
        takt_groups_block(g, (takt_axis_ref){node, d});
}

/* ---- traversal ---- */

/* A state and its next value have the same axes. */
static void relate_states(takt_groups *g)
{
    for (size_t i = 0; i < g->graph->slot_count; i++) {
        const takt_slot *s = &g->graph->slots[i];
        for (int d = 0; s->next != TAKT_NONE && d < s->type.rank; d++)
            takt_groups_same(g, (takt_axis_ref){s->value, d}, (takt_axis_ref){s->next, d});
    }
}

static void walk(takt_groups *g)
{
    do {
        while (g->queue_count > 0 && g->status == TAKT_OK) {
            const takt_id id = g->queue[--g->queue_count];
            if (g->live[id])
                takt_groups_relate(g, id, false);
        }
        relate_states(g);
    } while (g->queue_count > 0 && g->status == TAKT_OK);
}

bool takt_groups_start(takt_groups *g, takt_axis_ref at)
{
    if (find(g, at) != NULL || reach(g, at) == NULL)
        return false;
    walk(g);
    return g->status == TAKT_OK;
}

takt_status takt_groups_settle(takt_groups *g)
{
    const takt_graph *graph = g->graph;
    for (size_t i = 0; i < g->node_count && g->status == TAKT_OK; i++)
        if (g->live[i])
            takt_groups_relate(g, (takt_id)i, true);
    for (size_t i = 0; i < graph->input_count; i++)
        takt_groups_block_all(g, graph->inputs[i].id);
    for (size_t i = 0; i < graph->output_count; i++)
        takt_groups_block_all(g, graph->outputs[i].id);
    for (size_t i = 0; i < graph->check_count; i++)
        takt_groups_block_all(g, graph->checks[i].id);
    return g->status;
}

uint32_t takt_groups_unit(takt_groups *g, takt_axis_ref at, uint32_t index)
{
    const takt_group_axis *axis = find(g, at);
    return axis != NULL ? root_of(g, axis->first + index) : UINT32_MAX;
}

bool takt_groups_is_blocked(takt_groups *g, uint32_t unit)
{
    return g->blocked[root_of(g, unit)];
}
