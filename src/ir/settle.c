/* settle.c - a graph with all that became known about its sizes while it was made. */
#include <string.h>

#include "base/mem.h"
#include "ir/attr.h"
#include "ir/merge.h"

static takt_status resolve(takt_graph *g, takt_dim *dims, size_t count, bool *is_new)
{
    for (size_t i = 0; i < count; i++) {
        const takt_dim old = dims[i];
        TAKT_TRY(takt_dim_resolve(g->dims, old, &dims[i]));
        *is_new = *is_new || dims[i] != old;
    }
    return TAKT_OK;
}

/* Attributes and types of a node are in the graph's arena: its own. */
static takt_status resolve_node(takt_graph *g, takt_node *n, bool *is_new)
{
    bool other = false;
    for (uint32_t i = 0; i < n->out_count; i++) {
        takt_type *type = (takt_type *)(uintptr_t)&n->type[i];
        TAKT_TRY(resolve(g, type->dim, (size_t)type->rank, &other));
    }
    for (size_t i = 0; i < takt_op_attr_count(n->op); i++) {
        const takt_attr *a = &n->attr[i];
        if (!a->is_set)
            continue;
        if (n->op->attrs[i].type == TAKT_ATTR_SHAPE)
            TAKT_TRY(resolve(g, (takt_dim *)(uintptr_t)a->dims, a->count, is_new));
        if (n->op->attrs[i].type == TAKT_ATTR_TYPE) {
            takt_type *type = (takt_type *)(uintptr_t)a->type;
            TAKT_TRY(resolve(g, type->dim, (size_t)type->rank, is_new));
        }
    }
    return TAKT_OK;
}

static void map_inputs(takt_node *n, const takt_id *map, bool *is_new)
{
    takt_id *in = (takt_id *)(uintptr_t)n->in;
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_id old = in[k];
        in[k] = old == TAKT_NONE ? TAKT_NONE : map[old];
        *is_new = *is_new || in[k] != old;
    }
}

/* Reinserts every node into the emptied table; duplicates are left out. */
static takt_status merge(takt_graph *g, takt_id *map)
{
    size_t kept = 0;
    memset(g->table, 0xff, g->table_size * sizeof *g->table);
    for (size_t i = 0; i < g->count; i++) {
        takt_node n = g->nodes[i];
        bool is_new = false;
        TAKT_TRY(resolve_node(g, &n, &is_new));
        map_inputs(&n, map, &is_new);
        if (is_new)
            n.hash = takt_merge_hash(n.op, n.in_count, n.in, n.attr);
        const size_t slot = takt_merge_find(g, n.hash, n.op, n.in_count, n.in, n.attr);
        map[i] = g->table[slot];
        if (map[i] != TAKT_NONE) {
            takt_graph_merge_origin(g, map[i], n.origin);
            continue;
        }
        map[i] = g->table[slot] = (takt_id)kept;
        g->nodes[kept++] = n;
    }
    g->count = kept;
    return TAKT_OK;
}

static takt_status edges(takt_graph *g, const takt_id *map)
{
    bool is_new = false; /* slots are not in the table */
    for (size_t i = 0; i < g->input_count; i++)
        g->inputs[i].id = map[g->inputs[i].id];
    for (size_t i = 0; i < g->output_count; i++)
        g->outputs[i].id = map[g->outputs[i].id];
    for (size_t i = 0; i < g->check_count; i++)
        g->checks[i].id = map[g->checks[i].id];
    for (size_t i = 0; i < g->slot_count; i++) {
        takt_slot *s = &g->slots[i];
        s->value = map[s->value];
        s->next = s->next == TAKT_NONE ? TAKT_NONE : map[s->next];
        TAKT_TRY(resolve(g, s->type.dim, (size_t)s->type.rank, &is_new));
    }
    return TAKT_OK;
}

takt_status takt_graph_settle(takt_graph *g, takt_id *map)
{
    void *block = NULL;
    const size_t bytes = g->count * sizeof *map;
    if (g->count == 0)
        return TAKT_OK;
    if (map == NULL)
        TAKT_TRY(takt_mem_get(g->ctx, bytes, "a map of nodes", &block));
    takt_status status = merge(g, map != NULL ? map : block);
    if (status == TAKT_OK)
        status = edges(g, map != NULL ? map : block);
    if (block != NULL)
        takt_mem_put(g->ctx, block, bytes);
    for (size_t i = 0; i < g->child_count && status == TAKT_OK; i++)
        status = takt_graph_settle(g->children[i], NULL); /* depth is limited when one is added */
    return status;
}
