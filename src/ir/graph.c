/* graph.c - life of a graph, and the one function through which every node enters it. */
#include "ir/graph.h"
#include "ir/cast_hint.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/size.h"
#include "ir/attr.h"
#include "ir/infer.h"
#include "ir/merge.h"

takt_status takt_graph_create(takt_ctx *ctx, const takt_graph *like, takt_graph **out)
{
    *out = NULL;
    void *block;
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **out, "graph", &block));
    takt_graph *g = block;
    g->ctx = ctx;
    g->references = 1;
    g->name = "model";
    takt_arena_init(&g->arena, ctx);
    if (like != NULL) {
        takt_dims_retain(like->dims);
        g->dims = like->dims;
        g->streams = like->streams;
        g->keeps_equals = like->keeps_equals;
    } else if (takt_dims_create(ctx, &g->dims) != TAKT_OK) {
        takt_graph_destroy(g);
        return TAKT_ERR_MEMORY;
    }
    if (like != NULL &&
        (g->name = takt_arena_text(&g->arena, like->name, strlen(like->name))) == NULL) {
        takt_graph_destroy(g);
        return TAKT_ERR_MEMORY;
    }
    if (like != NULL && like->doc != NULL &&
        (g->doc = takt_arena_text(&g->arena, like->doc, strlen(like->doc))) == NULL) {
        takt_graph_destroy(g);
        return TAKT_ERR_MEMORY;
    }
    if (like != NULL && like->backend != NULL &&
        (g->backend = takt_arena_text(&g->arena, like->backend, strlen(like->backend))) == NULL) {
        takt_graph_destroy(g);
        return TAKT_ERR_MEMORY;
    }
    *out = g;
    return TAKT_OK;
}

void takt_graph_retain(takt_graph *g)
{
    __atomic_add_fetch(&g->references, 1, __ATOMIC_RELAXED);
}

void takt_graph_destroy(takt_graph *g)
{
    if (g == NULL || __atomic_sub_fetch(&g->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    takt_ctx *ctx = g->ctx;
    for (size_t i = 0; i < g->tensor_count; i++)
        takt_storage_release(g->tensors[i]->storage);
    for (size_t i = 0; i < g->child_count; i++)
        takt_graph_destroy(g->children[i]); /* depth is limited when a child is added */
    takt_mem_put(ctx, g->nodes, g->capacity * sizeof *g->nodes);
    takt_mem_put(ctx, g->table, g->table_size * sizeof *g->table);
    takt_mem_put(ctx, g->inputs, g->input_capacity * sizeof *g->inputs);
    takt_mem_put(ctx, g->outputs, g->output_capacity * sizeof *g->outputs);
    takt_mem_put(ctx, g->checks, g->check_capacity * sizeof *g->checks);
    takt_mem_put(ctx, g->slots, g->slot_capacity * sizeof *g->slots);
    takt_mem_put(ctx, g->edges, g->edge_size * sizeof *g->edges);
    takt_mem_put(ctx, g->tensors, g->tensor_capacity * sizeof *g->tensors);
    takt_mem_put(ctx, g->children, g->child_capacity * sizeof *g->children);
    takt_arena_deinit(&g->arena);
    takt_dims_release(g->dims);
    takt_mem_put(ctx, g, sizeof *g);
}

takt_id takt_graph_fail(takt_graph *g, takt_status status)
{
    if (g->status == TAKT_OK)
        g->status = status == TAKT_OK ? TAKT_ERR_INTERNAL : status;
    return TAKT_NONE;
}

/* ---- checks before inference ---- */

static takt_status check_arity(takt_graph *g, const takt_op *op, size_t count)
{
    const size_t most = op->in_max == TAKT_VARIADIC ? SIZE_MAX : (size_t)op->in_max;
    if (count >= (size_t)op->in_min && count <= most)
        return TAKT_OK;
    if (op->in_max == TAKT_VARIADIC)
        return takt_fail(g->ctx, TAKT_E_ARITY, "%s: takes at least %d inputs, got %zu", op->name,
                         op->in_min, count);
    if (op->in_min == op->in_max)
        return takt_fail(g->ctx, TAKT_E_ARITY, "%s: takes %d input%s, got %zu", op->name,
                         op->in_min, op->in_min == 1 ? "" : "s", count);
    return takt_fail(g->ctx, TAKT_E_ARITY, "%s: takes %d to %d inputs, got %zu", op->name,
                     op->in_min, op->in_max, count);
}

static takt_status check_input(takt_graph *g, const takt_op *op, size_t index, takt_id id)
{
    if (id == TAKT_NONE) {
        if (index >= (size_t)op->in_min && op->in_max != TAKT_VARIADIC)
            return TAKT_OK;
        return takt_fail(g->ctx, TAKT_E_ARITY, "%s: input %zu may not be left out", op->name,
                         index);
    }
    if (id >= g->count)
        return takt_fail(g->ctx, TAKT_E_VERIFY, "%s: input %zu is node %u of %zu", op->name, index,
                         id, g->count);
    const takt_node *n = &g->nodes[id];
    if (n->out_count != 1 && strcmp(op->name, "get") != 0)
        return takt_fail(g->ctx, TAKT_E_ARITY,
                         "%s: input %zu is a %s with %u results; take one of them", op->name, index,
                         n->op->name, n->out_count);
    return TAKT_OK;
}

static takt_status check_dtypes(takt_infer *in)
{
    const takt_op *op = in->op;
    takt_dtype first = TAKT_DTYPE_COUNT;
    for (size_t i = 0; i < in->in_count; i++) {
        if (in->type[i] == NULL)
            continue;
        const takt_dtype dtype = in->type[i]->dtype;
        if (op->dtypes != 0 && (op->dtypes & TAKT_IN(dtype)) == 0)
            return takt_fail(in->ctx, TAKT_E_DTYPE, "%s: input %zu is %s, which it does not take",
                             op->name, i, takt_dtype_name(dtype));
        if (first == TAKT_DTYPE_COUNT)
            first = dtype;
        if (!op->is_mixed && dtype != first) {
            takt_fail(in->ctx, TAKT_E_DTYPE, "%s: inputs have different element types: %s and %s",
                      op->name, takt_dtype_name(first), takt_dtype_name(dtype));
            return takt_cast_hint(in->ctx, first, dtype);
        }
    }
    return TAKT_OK;
}

static takt_status fill_attrs(takt_graph *g, const takt_op *op, const takt_attr *given,
                              takt_attr *filled)
{
    const size_t count = takt_op_attr_count(op);
    for (size_t i = 0; i < count; i++) {
        const takt_attr_def *def = &op->attrs[i];
        if (given != NULL && given[i].is_set) {
            filled[i] = given[i];
        } else if (def->is_required) {
            return takt_fail(g->ctx, TAKT_E_ATTR, "%s: attribute %s must be given", op->name,
                             def->name);
        } else {
            filled[i] = def->fallback;
            filled[i].is_set = !def->is_optional;
        }
    }
    return TAKT_OK;
}

static takt_status store_node(takt_graph *g, const takt_infer *in, const takt_attr *attrs,
                              uint64_t hash)
{
    if (g->count >= g->ctx->limits.nodes || g->count >= TAKT_NONE - 1)
        return takt_fail(g->ctx, TAKT_E_GRAPH_FULL, "the graph has reached its limit of %zu nodes",
                         g->count);
    void *nodes = g->nodes;
    TAKT_TRY(takt_mem_grow(g->ctx, &nodes, &g->capacity, g->count + 1, sizeof *g->nodes));
    g->nodes = nodes;
    const size_t attr_count = takt_op_attr_count(in->op);
    takt_id *ids = takt_arena_copy(&g->arena, in->in, in->in_count * sizeof *ids);
    takt_attr *copies = takt_arena_array(&g->arena, attr_count, sizeof *copies);
    takt_type *types = takt_arena_copy(&g->arena, in->out, in->out_count * sizeof *types);
    if (ids == NULL || copies == NULL || types == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < attr_count; i++)
        if (attrs[i].is_set)
            TAKT_TRY(takt_attr_copy(g, &in->op->attrs[i], &attrs[i], &copies[i]));
    g->nodes[g->count] = (takt_node){.op = in->op,
                                     .in_count = (uint32_t)in->in_count,
                                     .out_count = (uint32_t)in->out_count,
                                     .in = ids,
                                     .attr = copies,
                                     .type = types,
                                     .name = g->next_name,
                                     .origin = g->origin,
                                     .hash = hash};
    return TAKT_OK;
}

/* A node that exists already takes over the origins of the requested one. A constant that half the
 * model uses keeps only the first few: more would not help, and would cost unbounded time. */
void takt_graph_merge_origin(takt_graph *g, takt_id id, const takt_origin *origins)
{
    takt_node *n = &g->nodes[id];
    for (; origins != NULL && origins != n->origin; origins = origins->next) {
        size_t count = 0;
        const takt_origin *o = n->origin;
        for (; o != NULL; o = o->next, count++)
            if (o->line == origins->line && strcmp(o->name, origins->name) == 0)
                break;
        if (o != NULL)
            continue;
        takt_origin *copy =
            count < TAKT_MAX_ORIGINS ? takt_arena_copy(&g->arena, origins, sizeof *copy) : NULL;
        if (copy == NULL)
            return; /* a lost origin costs a name in an explanation, never the graph */
        copy->next = n->origin;
        n->origin = copy;
    }
}

static takt_status infer_types(takt_infer *in)
{
    in->out_count = in->op->out_count == 0 ? 1 : (size_t)in->op->out_count;
    TAKT_TRY(check_dtypes(in));
    TAKT_TRY(in->op->infer != NULL ? in->op->infer(in) : takt_infer_elementwise(in));
    for (size_t i = 0; i < in->out_count;
         i++) /* unused dimensions are zero, so types compare by bytes */
        for (int d = in->out[i].rank; d < TAKT_MAX_RANK; d++)
            in->out[i].dim[d] = 0;
    return TAKT_OK;
}

static takt_status append(takt_graph *g, takt_infer *in, const takt_attr *given, takt_id *id)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    TAKT_TRY(check_arity(g, in->op, in->in_count));
    const takt_type **types = takt_arena_array(&g->arena, in->in_count, sizeof *types);
    if (types == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < in->in_count; i++) {
        TAKT_TRY(check_input(g, in->op, i, in->in[i]));
        types[i] = in->in[i] == TAKT_NONE ? NULL : g->nodes[in->in[i]].type;
    }
    TAKT_TRY(fill_attrs(g, in->op, given, attrs));
    in->type = types;
    in->attr = attrs;
    TAKT_TRY(takt_merge_complete(in, attrs));
    TAKT_TRY(takt_merge_grow(g));
    uint64_t hash = takt_merge_hash(in->op, in->in_count, in->in, attrs);
    if (g->keeps_apart) /* then it is not shared, and equal nodes are not merged */
        hash = takt_hash_word(hash, g->count + 1);
    const size_t slot = takt_merge_find(g, hash, in->op, in->in_count, in->in, attrs);
    if (g->table[slot] != TAKT_NONE) {
        *id = g->table[slot];
        takt_graph_merge_origin(g, *id, g->origin);
        return TAKT_OK;
    }
    TAKT_TRY(infer_types(in));
    TAKT_TRY(store_node(g, in, attrs, hash));
    *id = (takt_id)g->count++;
    g->table[slot] = *id;
    return TAKT_OK;
}

takt_id takt_graph_append(takt_graph *g, const takt_op *op, size_t in_count, const takt_id *in,
                          const takt_attr *attrs)
{
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    takt_infer infer = {
        .graph = g, .ctx = g->ctx, .dims = g->dims, .op = op, .in_count = in_count, .in = in};
    takt_id id = TAKT_NONE;
    const takt_status status = takt_dims_blame(g->dims, append(g, &infer, attrs, &id));
    const char *name = g->next_name;
    g->next_name = NULL;
    if (status == TAKT_OK)
        return id;
    if (name != NULL || g->origin != NULL)
        takt_fail_node(g->ctx, name != NULL ? name : g->origin->name);
    return takt_graph_fail(g, status);
}

takt_id takt_graph_call(takt_graph *g, const takt_op *op, size_t in_count, const takt_id *in,
                        size_t attr_count, const takt_named_attr *attrs)
{
    takt_attr filled[TAKT_MAX_ATTRS] = {0};
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    for (size_t i = 0; i < attr_count; i++) {
        const int index = takt_op_attr_index(op, attrs[i].name);
        if (index < 0)
            return takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_ATTR, "%s: has no attribute %s",
                                                op->name, attrs[i].name));
        filled[index] = attrs[i].value;
        filled[index].is_set = true;
    }
    return takt_graph_append(g, op, in_count, in, filled);
}
