/* template.c - finding everything that depends on sizes, and substituting sizes without moving a
 * node. */
#include "pass/template.h"

#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "pass/branch.h"

/* ---- what depends on sizes ---- */

static takt_status add_patch(takt_template *t, takt_patch **list, size_t *count, size_t *capacity,
                             takt_patch patch, takt_dim dim)
{
    void *array = *list;
    TAKT_TRY(takt_sizes_cell(&t->sizes, dim, &patch.cell));
    const takt_status status = takt_mem_grow(t->ctx, &array, capacity, *count + 1, sizeof **list);
    *list = array;
    TAKT_TRY(status);
    (*list)[(*count)++] = patch;
    t->is_sized[patch.node] = 1;
    return TAKT_OK;
}

static takt_status find_in_types(takt_template *t, takt_id id)
{
    const takt_node *n = &t->graph->nodes[id];
    for (uint32_t k = 0; k < n->out_count; k++)
        for (int d = 0; d < n->type[k].rank; d++)
            if (!takt_dim_is_number(n->type[k].dim[d]))
                TAKT_TRY(add_patch(t, &t->types, &t->type_count, &t->type_capacity,
                                   (takt_patch){.node = id, .which = k, .index = (uint32_t)d},
                                   n->type[k].dim[d]));
    return TAKT_OK;
}

static takt_status find_in_attrs(takt_template *t, takt_id id)
{
    const takt_node *n = &t->graph->nodes[id];
    const size_t count = takt_op_attr_count(n->op);
    bool is_outer = false;
    for (uint32_t k = 0; k < count; k++) {
        const takt_attr *attr = &n->attr[k];
        is_outer = is_outer || (attr->is_set && n->op->attrs[k].type == TAKT_ATTR_GRAPH);
        if (!attr->is_set || n->op->attrs[k].type != TAKT_ATTR_SHAPE)
            continue;
        for (uint32_t i = 0; i < attr->count; i++)
            if (!takt_dim_is_number(attr->dims[i]))
                TAKT_TRY(add_patch(t, &t->shapes, &t->shape_count, &t->shape_capacity,
                                   (takt_patch){.node = id, .which = k, .index = i},
                                   attr->dims[i]));
    }
    if (!is_outer)
        return TAKT_OK;
    void *outer = t->outer;
    TAKT_TRY(
        takt_mem_grow(t->ctx, &outer, &t->outer_capacity, t->outer_count + 1, sizeof *t->outer));
    t->outer = outer;
    t->outer[t->outer_count++] = id;
    t->is_sized[id] = 1;
    return TAKT_OK;
}

static takt_status find_value(takt_template *t, takt_id id)
{
    const takt_node *n = &t->graph->nodes[id];
    const takt_type *of = takt_type_of(t->graph, n->in[0]);
    const int64_t axis = n->attr[0].i64;
    const takt_dim dim = of->dim[axis < 0 ? axis + of->rank : axis];
    return add_patch(t, &t->values, &t->value_count, &t->value_capacity, (takt_patch){.node = id},
                     dim);
}

static takt_status find(takt_template *t)
{
    const takt_graph *g = t->graph;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        TAKT_TRY(find_in_types(t, (takt_id)i));
        TAKT_TRY(find_in_attrs(t, (takt_id)i));
        if (n->op == &takt_op_dim)
            TAKT_TRY(find_value(t, (takt_id)i));
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE && t->is_sized[n->in[k]])
                t->is_sized[i] = 1;
    }
    return TAKT_OK;
}

takt_status takt_template_create(takt_graph *graph, takt_template **out)
{
    void *block, *flags;
    *out = NULL;
    TAKT_TRY(takt_mem_zero(graph->ctx, 1, sizeof **out, "a graph with names", &block));
    takt_template *t = block;
    t->ctx = graph->ctx;
    t->graph = graph;
    takt_graph_retain(graph);
    takt_status status = takt_sizes_init(&t->sizes, t->ctx, graph->dims);
    if (status == TAKT_OK)
        status = takt_mem_zero(t->ctx, graph->count, 1, "a graph with names", &flags);
    if (status == TAKT_OK) {
        t->is_sized = flags;
        status = find(t);
    }
    if (status == TAKT_OK)
        status = takt_template_list(t);
    if (status == TAKT_OK)
        *out = t;
    else
        takt_template_destroy(t);
    return status;
}

void takt_template_destroy(takt_template *t)
{
    if (t == NULL)
        return;
    takt_ctx *ctx = t->ctx;
    takt_mem_put(ctx, t->types, t->type_capacity * sizeof *t->types);
    takt_mem_put(ctx, t->shapes, t->shape_capacity * sizeof *t->shapes);
    takt_mem_put(ctx, t->values, t->value_capacity * sizeof *t->values);
    takt_mem_put(ctx, t->outer, t->outer_capacity * sizeof *t->outer);
    takt_mem_put(ctx, t->is_sized, t->graph->count);
    takt_mem_put(ctx, t->checked, t->checked_capacity * sizeof *t->checked);
    takt_sizes_deinit(&t->sizes);
    takt_graph_destroy(t->graph);
    takt_mem_put(ctx, t, sizeof *t);
}

size_t takt_template_bytes(const takt_template *t)
{
    return sizeof *t + t->type_capacity * sizeof *t->types + t->shape_capacity * sizeof *t->shapes +
           t->value_capacity * sizeof *t->values + t->outer_capacity * sizeof *t->outer +
           t->checked_capacity * sizeof *t->checked + (t->graph->count > 0 ? t->graph->count : 1) +
           takt_sizes_bytes(&t->sizes);
}

/* ---- the graph of a size ---- */

static takt_status copy_array(takt_ctx *ctx, const void *from, size_t count, size_t item, void *to,
                              size_t *capacity)
{
    void *block;
    if (count == 0)
        return TAKT_OK;
    TAKT_TRY(takt_mem_get(ctx, count * item, "graph", &block));
    memcpy(block, from, count * item);
    memcpy(to, &block, sizeof block);
    *capacity = count;
    return TAKT_OK;
}

/* Keeps `from` alive with `g`; it is not a subgraph, so it does not count as nesting. */
static takt_status hold(takt_graph *g, const takt_graph *from)
{
    void *array = g->children;
    const takt_status status =
        takt_mem_grow(g->ctx, &array, &g->child_capacity, g->child_count + 1, sizeof *g->children);
    g->children = array;
    TAKT_TRY(status);
    takt_graph *held = (takt_graph *)(uintptr_t)from; /* its reference count is all that changes */
    takt_graph_retain(held);
    g->children[g->child_count++] = held;
    return TAKT_OK;
}

/* The same nodes, ports and slots. Names, origins, attributes and constants stay in the template's
 * graph, which the new one holds. */
static takt_status copy_graph(const takt_graph *from, takt_graph *g)
{
    takt_ctx *ctx = from->ctx;
    TAKT_TRY(copy_array(ctx, from->nodes, from->count, sizeof *g->nodes, &g->nodes, &g->capacity));
    g->count = from->count;
    TAKT_TRY(copy_array(ctx, from->inputs, from->input_count, sizeof *g->inputs, &g->inputs,
                        &g->input_capacity));
    g->input_count = from->input_count;
    TAKT_TRY(copy_array(ctx, from->outputs, from->output_count, sizeof *g->outputs, &g->outputs,
                        &g->output_capacity));
    g->output_count = from->output_count;
    TAKT_TRY(copy_array(ctx, from->slots, from->slot_count, sizeof *g->slots, &g->slots,
                        &g->slot_capacity));
    g->slot_count = from->slot_count;
    TAKT_TRY(copy_array(ctx, from->checks, from->check_count, sizeof *g->checks, &g->checks,
                        &g->check_capacity));
    g->check_count = from->check_count;
    TAKT_TRY(
        copy_array(ctx, from->edges, from->edge_size, sizeof *g->edges, &g->edges, &g->edge_size));
    g->streams = from->streams;
    g->keeps_equals = from->keeps_equals;
    g->depth = from->depth;
    return hold(g, from);
}

static takt_status put_types(const takt_template *t, const int64_t *cells, takt_graph *g)
{
    takt_type *types = NULL;
    takt_id last = TAKT_NONE;
    for (size_t i = 0; i < t->type_count; i++) {
        const takt_patch *p = &t->types[i];
        takt_node *n = &g->nodes[p->node];
        if (p->node != last) {
            types = takt_arena_copy(&g->arena, n->type, n->out_count * sizeof *types);
            if (types == NULL)
                return TAKT_ERR_MEMORY;
            n->type = types;
            last = p->node;
        }
        types[p->which].dim[p->index] = cells[p->cell];
    }
    return TAKT_OK;
}

/* A writable copy of the node's attributes, made once. */
static takt_attr *own_attrs(const takt_template *t, takt_graph *g, takt_id id)
{
    takt_node *n = &g->nodes[id];
    if (n->attr == t->graph->nodes[id].attr)
        n->attr = takt_arena_copy(&g->arena, n->attr, takt_op_attr_count(n->op) * sizeof *n->attr);
    return (takt_attr *)(uintptr_t)n->attr;
}

static takt_status put_shapes(const takt_template *t, const int64_t *cells, takt_graph *g)
{
    takt_dim *dims = NULL;
    const takt_patch *last = NULL;
    for (size_t i = 0; i < t->shape_count; last = &t->shapes[i++]) {
        const takt_patch *p = &t->shapes[i];
        if (last == NULL || last->node != p->node || last->which != p->which) {
            takt_attr *attrs = own_attrs(t, g, p->node);
            if (attrs == NULL)
                return TAKT_ERR_MEMORY;
            takt_attr *attr = &attrs[p->which];
            dims = takt_arena_copy(&g->arena, attr->dims, attr->count * sizeof *dims);
            if (dims == NULL)
                return TAKT_ERR_MEMORY;
            attr->dims = dims;
        }
        dims[p->index] = cells[p->cell];
    }
    return TAKT_OK;
}

/* Sizes that are read as values become constants. */
static takt_status put_values(const takt_template *t, const int64_t *cells, takt_graph *g)
{
    takt_storage *storage;
    takt_status status = TAKT_OK;
    if (t->value_count == 0)
        return TAKT_OK;
    TAKT_TRY(takt_storage_create(t->ctx, t->value_count * TAKT_ALIGN, &storage));
    for (size_t i = 0; i < t->value_count && status == TAKT_OK; i++) {
        const takt_tensor value = {
            .type = {.dtype = TAKT_I64}, .storage = storage, .offset = i * TAKT_ALIGN};
        const takt_tensor *held;
        memcpy(takt_tensor_data(&value), &cells[t->values[i].cell], sizeof *cells);
        status = takt_graph_hold_tensor(g, &value, &held);
        takt_attr *attr = takt_arena_array(&g->arena, 1, sizeof *attr);
        if (status == TAKT_OK && attr == NULL)
            status = TAKT_ERR_MEMORY;
        if (status != TAKT_OK)
            break;
        takt_node *n = &g->nodes[t->values[i].node];
        *attr = (takt_attr){.tensor = held, .is_set = true};
        n->op = &takt_op_constant;
        n->in_count = 0;
        n->attr = attr;
    }
    takt_storage_release(storage);
    return status;
}

static takt_status put_children(const takt_template *t, const int64_t *sizes, size_t count,
                                takt_graph *g)
{
    for (size_t i = 0; i < t->outer_count; i++) {
        const takt_node *n = &g->nodes[t->outer[i]];
        takt_attr *attrs = own_attrs(t, g, t->outer[i]);
        if (attrs == NULL)
            return TAKT_ERR_MEMORY;
        takt_graph *children[TAKT_MAX_ATTRS];
        takt_status status = takt_specialize_children(g, n, sizes, count, children);
        for (size_t k = 0; k < takt_op_attr_count(n->op); k++) {
            if (children[k] == NULL)
                continue;
            attrs[k].graph = children[k];
            if (status == TAKT_OK)
                status = takt_graph_hold_child(g, children[k]);
            takt_graph_destroy(children[k]);
        }
        TAKT_TRY(status);
    }
    return TAKT_OK;
}

/* The declared types of inputs and slots. */
static takt_status put_edges(const takt_template *t, takt_graph *g)
{
    for (size_t i = 0; i < g->slot_count; i++)
        g->slots[i].type = *takt_type_of(g, g->slots[i].value);
    for (size_t i = 0; i < t->type_count; i++) {
        const takt_id id = t->types[i].node;
        const takt_node *n = &g->nodes[id];
        if (n->op != &takt_op_input && n->op != &takt_op_state)
            continue;
        takt_attr *attrs = own_attrs(t, g, id);
        if (attrs == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t k = 0; k < takt_op_attr_count(n->op); k++)
            if (n->op->attrs[k].type == TAKT_ATTR_TYPE)
                attrs[k].type = n->type;
    }
    return TAKT_OK;
}

static takt_status fill(const takt_template *t, const int64_t *sizes, size_t count, int64_t *cells,
                        takt_graph *g)
{
    for (size_t i = 0; i < t->sizes.name_count; i++)
        cells[i] = i < count && sizes[i] >= 0 ? sizes[i] : 1;
    TAKT_TRY(takt_sizes_run(&t->sizes, cells));
    TAKT_TRY(copy_graph(t->graph, g));
    TAKT_TRY(put_types(t, cells, g));
    TAKT_TRY(put_shapes(t, cells, g));
    TAKT_TRY(put_values(t, cells, g));
    TAKT_TRY(put_children(t, cells, t->sizes.name_count, g));
    TAKT_TRY(put_edges(t, g));
    return takt_template_check(t, g);
}

takt_status takt_template_size(const takt_template *t, const int64_t *sizes, size_t count,
                               takt_graph **out)
{
    const size_t bytes = takt_sizes_cells(&t->sizes) * sizeof(int64_t);
    void *cells;
    *out = NULL;
    TAKT_TRY(takt_mem_get(t->ctx, bytes > 0 ? bytes : 1, "sizes", &cells));
    takt_status status = takt_graph_create(t->ctx, t->graph, out);
    if (status == TAKT_OK)
        status = fill(t, sizes, count, cells, *out);
    takt_mem_put(t->ctx, cells, bytes > 0 ? bytes : 1);
    if (status != TAKT_OK) {
        takt_graph_destroy(*out);
        *out = NULL;
    }
    return status;
}
