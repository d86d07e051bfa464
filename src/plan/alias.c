/* alias.c - values that are another value seen differently take no memory and no step. */
#include <string.h>

#include "op/ops.h"
#include "plan/builder.h"

/* Slice of one axis whose result is one contiguous range: everything before the axis is 1. */
static bool contiguous_slice(const takt_graph *g, const takt_node *n, size_t *offset)
{
    const takt_type *from = takt_type_of(g, n->in[0]), *to = n->type;
    const int axes = takt_op_attr_index(n->op, "axes", 4),
              start = takt_op_attr_index(n->op, "start", 5),
              step = takt_op_attr_index(n->op, "step", 4);
    if (axes < 0 || start < 0 || step < 0 || takt_dtype_bits(from->dtype) < 8)
        return false;
    for (uint32_t i = 0; i < n->attr[step].count; i++)
        if (n->attr[step].i64s[i] != 1)
            return false;
    int sliced = -1;
    for (int d = 0; d < from->rank; d++) {
        if (from->dim[d] == to->dim[d])
            continue;
        if (sliced >= 0)
            return false;
        sliced = d;
    }
    if (sliced < 0) {
        *offset = 0;
        return true;
    }
    for (int d = 0; d < sliced; d++)
        if (from->dim[d] != 1)
            return false;
    int64_t inner = takt_dtype_bits(from->dtype) / 8, at = 0;
    for (int d = sliced + 1; d < from->rank; d++)
        inner *= from->dim[d];
    for (uint32_t i = 0; i < n->attr[start].count; i++) {
        const int64_t axis = n->attr[axes].count == 0 ? (int64_t)i : n->attr[axes].i64s[i];
        if ((axis < 0 ? axis + from->rank : axis) == sliced)
            at = n->attr[start].i64s[i];
    }
    at += at < 0 ? from->dim[sliced] : 0;
    at = at < 0 ? 0 : at > from->dim[sliced] ? from->dim[sliced] : at;
    *offset = (size_t)(at * inner);
    return true;
}

static bool is_alias(const takt_graph *g, const takt_node *n, size_t *offset)
{
    *offset = 0;
    if (n->op == &takt_op_reshape || n->op == &takt_op_bitcast)
        return true;
    if (n->op == &takt_op_slice)
        return contiguous_slice(g, n, offset);
    return false;
}

takt_status takt_builder_alias(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    b->root = takt_arena_array(&b->scratch, g->count, sizeof *b->root);
    b->root_offset = takt_arena_array(&b->scratch, g->count, sizeof *b->root_offset);
    if (b->root == NULL || b->root_offset == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++) {
        size_t offset;
        b->root[i] = (takt_id)i;
        if (b->live[i] && is_alias(g, &g->nodes[i], &offset)) {
            b->root[i] = b->root[g->nodes[i].in[0]];
            b->root_offset[i] = b->root_offset[g->nodes[i].in[0]] + offset;
        }
    }
    return TAKT_OK;
}
