/* alias.c - values that are views of another value take no memory and no step. */
#include <string.h>

#include "op/ops.h"
#include "plan/builder.h"

/* Slice of one axis whose result is one contiguous range: everything before the axis is 1. */
static bool contiguous_slice(const takt_graph *g, const takt_node *n, size_t *offset)
{
    const takt_type *from = takt_type_of(g, n->in[0]), *to = n->type;
    const takt_attr *axes = takt_node_attr(n, "axes"), *start = takt_node_attr(n, "start"),
                    *step = takt_node_attr(n, "step");
    if (axes == NULL || start == NULL || step == NULL || takt_dtype_bits(from->dtype) < 8)
        return false;
    for (uint32_t i = 0; i < step->count; i++)
        if (step->i64s[i] != 1)
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
    for (uint32_t i = 0; i < start->count; i++) {
        const int64_t axis = axes->count == 0 ? (int64_t)i : axes->i64s[i];
        if ((axis < 0 ? axis + from->rank : axis) == sliced)
            at = start->i64s[i];
    }
    at += at < 0 ? from->dim[sliced] : 0;
    at = at < 0 ? 0 : at > from->dim[sliced] ? from->dim[sliced] : at;
    *offset = (size_t)(at * inner);
    return true;
}

static bool is_alias(const takt_graph *g, const takt_node *n, size_t *offset)
{
    *offset = 0;
    if (n->op == &takt_op_reshape || n->op == &takt_op_bitcast || n->op == &takt_op_sized)
        return true;
    if (n->op == &takt_op_slice)
        return contiguous_slice(g, n, offset);
    return false;
}

/* ---- concatenation in place ---- */

/* The pieces are contiguous if everything before the axis is 1. */
static bool is_stack(const takt_node *n)
{
    int64_t axis = takt_node_int(n, "axis");
    axis += axis < 0 ? n->type->rank : 0;
    for (int d = 0; d < axis; d++)
        if (n->type->dim[d] != 1)
            return false;
    return takt_dtype_bits(n->type->dtype) >= 8;
}

/* The node whose step writes the whole of input `k`, if it may write into the result instead. */
static takt_id writer(const takt_builder *b, const takt_node *n, uint32_t k,
                      const unsigned char *is_taken)
{
    const takt_graph *g = b->p.graph;
    const takt_id root = b->root[n->in[k]];
    size_t own, whole;
    if (b->root_offset[n->in[k]] != 0 || is_taken[root] || b->is_constant[root] ||
        (g->nodes[root].op->traits & TAKT_LEAF) != 0 || b->is_alias[root] ||
        b->space_of[root] != b->space_of[b->root[n->in[0]]] ||
        !takt_type_bytes(takt_type_of(g, n->in[k]), &own) ||
        !takt_type_bytes(g->nodes[root].type, &whole) || own != whole)
        return TAKT_NONE;
    return root;
}

/* All inputs are written straight into the result, or none is. */
static bool join_in_place(takt_builder *b, takt_id id, unsigned char *is_taken)
{
    const takt_node *n = &b->p.graph->nodes[id];
    if (!b->p.settings->reuse || !b->p.settings->in_place || b->is_constant[id] || !is_stack(n))
        return false;
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_id root = writer(b, n, k, is_taken);
        for (uint32_t other = 0; other < k; other++)
            if (root == b->root[n->in[other]])
                return false;
        if (root == TAKT_NONE)
            return false;
    }
    size_t at = 0, bytes = 0;
    b->space_of[id] = b->space_of[b->root[n->in[0]]];
    for (uint32_t k = 0; k < n->in_count; k++, at += bytes) {
        const takt_id root = b->root[n->in[k]];
        (void)takt_type_bytes(b->p.graph->nodes[root].type, &bytes);
        b->root[root] = id;
        b->root_offset[root] = at;
        is_taken[root] = 1;
    }
    return true;
}

/* Roots found before a concatenation took them over now lead to it. */
static void follow(takt_builder *b)
{
    for (size_t i = b->p.graph->count; i-- > 0;)
        while (b->root[b->root[i]] != b->root[i]) {
            b->root_offset[i] += b->root_offset[b->root[i]];
            b->root[i] = b->root[b->root[i]];
        }
}

/* Values that are read in another space than they are made in: they are copied as soon as they are
 * complete, when the rest of a concatenation may not be. A concatenation itself copies nothing if
 * it is done in place. */
static void mark_copied(const takt_builder *b, unsigned char *is_taken)
{
    const takt_graph *g = b->p.graph;
    for (size_t i = 0; b->copy_in[0] != NULL && i < g->count; i++)
        for (uint32_t k = 0; b->live[i] && !b->is_alias[i] && k < g->nodes[i].in_count; k++) {
            const takt_id in = g->nodes[i].in[k], root = in != TAKT_NONE ? b->root[in] : TAKT_NONE;
            if (root == TAKT_NONE || b->space_of[i] == b->space_of[root] ||
                (g->nodes[i].op == &takt_op_concat && b->uses[in] == 1 && b->uses[root] == 1))
                continue;
            is_taken[root] = 1;
        }
}

takt_status takt_builder_join(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    if (b->is_taken == NULL)
        b->is_taken = takt_arena_array(&b->scratch, g->count, 1);
    unsigned char *is_taken = b->is_taken;
    if (is_taken == NULL)
        return TAKT_ERR_MEMORY;
    memset(is_taken, 0, g->count);
    mark_copied(b, is_taken);
    for (size_t i = 0; i < g->output_count; i++)
        is_taken[b->root[g->outputs[i].id]] = 1;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            is_taken[b->root[g->slots[i].next]] = 1;
    for (size_t i = 0; i < g->count; i++)
        if (b->live[i] && g->nodes[i].op == &takt_op_concat)
            b->is_alias[i] = join_in_place(b, (takt_id)i, is_taken);
    follow(b);
    return TAKT_OK;
}

bool takt_builder_alias_stays(const takt_builder *b, takt_id id)
{
    const takt_graph *g = b->p.graph;
    const takt_node *n = &g->nodes[id];
    size_t offset;
    if (n->op == &takt_op_concat)
        return !b->is_alias[id] && !is_stack(n);
    if (b->is_converted[id])
        return b->root_offset[id] == b->root_offset[n->in[0]];
    const bool is = is_alias(g, n, &offset);
    return is == (b->is_alias[id] != 0) &&
           (!is || b->root_offset[id] == b->root_offset[n->in[0]] + offset);
}

takt_status takt_builder_alias(takt_builder *b)
{
    const takt_graph *g = b->p.graph;
    if (b->root == NULL) { /* else sizes are others, and it is all found again */
        b->root = takt_arena_array(&b->scratch, g->count, sizeof *b->root);
        b->root_offset = takt_arena_array(&b->scratch, g->count, sizeof *b->root_offset);
        b->is_alias = takt_arena_array(&b->scratch, g->count, 1);
    }
    if (b->root == NULL || b->root_offset == NULL || b->is_alias == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_builder_find_converted(b));
    for (size_t i = 0; i < g->count; i++) {
        size_t offset;
        b->root[i] = (takt_id)i;
        b->root_offset[i] = 0;
        b->is_alias[i] = 0;
        if (b->is_converted[i])
            offset = 0;
        if (b->live[i] && (b->is_converted[i] || is_alias(g, &g->nodes[i], &offset))) {
            b->is_alias[i] = 1;
            b->root[i] = b->root[g->nodes[i].in[0]];
            b->root_offset[i] = b->root_offset[g->nodes[i].in[0]] + offset;
        }
    }
    return TAKT_OK;
}
