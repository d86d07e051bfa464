/* merge.c - finding an equal node: every node of a graph is in a table, by a hash. */
#include "ir/merge.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ir/attr.h"

uint64_t takt_merge_hash(const takt_op *op, size_t in_count, const takt_id *in,
                         const takt_attr *attrs)
{
    uint64_t h = takt_hash_bytes(in_count, op->name, strlen(op->name));
    for (size_t i = 0; i < in_count; i++)
        h = takt_hash_word(h, in[i]);
    const size_t count = takt_op_attr_count(op);
    for (size_t i = 0; i < count; i++)
        h = attrs[i].is_set ? takt_attr_hash(&op->attrs[i], &attrs[i], h) : takt_hash_word(h, i);
    return h;
}

static bool same_node(const takt_node *n, const takt_op *op, size_t in_count, const takt_id *in,
                      const takt_attr *attrs)
{
    if (n->op != op || n->in_count != in_count)
        return false;
    if (in_count > 0 && memcmp(n->in, in, in_count * sizeof *in) != 0)
        return false;
    const size_t count = takt_op_attr_count(op);
    for (size_t i = 0; i < count; i++) {
        if (n->attr[i].is_set != attrs[i].is_set)
            return false;
        if (attrs[i].is_set && !takt_attr_same(&op->attrs[i], &n->attr[i], &attrs[i]))
            return false;
    }
    return true;
}

takt_status takt_merge_grow(takt_graph *g)
{
    if (g->table_size > 2 * g->count)
        return TAKT_OK;
    const size_t size = g->table_size == 0 ? 64 : 2 * g->table_size;
    void *block;
    TAKT_TRY(takt_mem_get(g->ctx, size * sizeof *g->table, "graph table", &block));
    takt_id *table = block;
    memset(table, 0xff, size * sizeof *table);
    for (size_t i = 0; i < g->count; i++) {
        size_t slot = g->nodes[i].hash & (size - 1);
        while (table[slot] != TAKT_NONE)
            slot = (slot + 1) & (size - 1);
        table[slot] = (takt_id)i;
    }
    takt_mem_put(g->ctx, g->table, g->table_size * sizeof *g->table);
    g->table = table;
    g->table_size = size;
    return TAKT_OK;
}

size_t takt_merge_find(const takt_graph *g, uint64_t hash, const takt_op *op, size_t in_count,
                       const takt_id *in, const takt_attr *attrs)
{
    size_t slot = hash & (g->table_size - 1);
    for (; g->table[slot] != TAKT_NONE; slot = (slot + 1) & (g->table_size - 1)) {
        const takt_node *n = &g->nodes[g->table[slot]];
        const bool may_merge =
            (op->traits & TAKT_UNIQUE) == 0 && (!g->keeps_equals || (op->traits & TAKT_LEAF) != 0);
        if (n->hash == hash && may_merge && same_node(n, op, in_count, in, attrs))
            break;
    }
    return slot;
}

takt_status takt_merge_complete(takt_infer *in, takt_attr *attrs)
{
    const takt_op *op = in->op;
    size_t count = 0;
    if ((op->traits & TAKT_VIEW) == 0 || strcmp(op->name, "squeeze") != 0 || attrs[0].is_set)
        return TAKT_OK;
    int64_t *axes = takt_arena_array(&in->graph->arena, TAKT_MAX_RANK, sizeof *axes);
    if (axes == NULL)
        return TAKT_ERR_MEMORY;
    for (int i = 0; i < in->type[0]->rank; i++)
        if (takt_dim_same(in->dims, in->type[0]->dim[i], 1))
            axes[count++] = i;
    attrs[0] = takt_attr_i64s(axes, count);
    return TAKT_OK;
}
