/* ports.c - the edges of a graph: inputs, constants, state, outputs, and references it holds. */
#include <string.h>

#include "base/mem.h"
#include "ir/attr.h"
#include "ir/edge_index.h"
#include "ir/graph.h"
#include "ir/leaves.h"

static takt_status add_port(takt_graph *g, takt_edge_kind kind, takt_port port)
{
    const bool is_input = kind == TAKT_EDGE_INPUT;
    takt_port **ports = is_input ? &g->inputs : &g->outputs;
    size_t *count = is_input ? &g->input_count : &g->output_count;
    size_t *capacity = is_input ? &g->input_capacity : &g->output_capacity;
    void *array = *ports;
    TAKT_TRY(takt_edge_reserve(g));
    TAKT_TRY(takt_mem_grow(g->ctx, &array, capacity, *count + 1, sizeof port));
    *ports = array;
    port.name = takt_arena_text(&g->arena, port.name, strlen(port.name));
    if (port.name == NULL)
        return TAKT_ERR_MEMORY;
    (*ports)[(*count)++] = port;
    takt_edge_add(g, kind, *count - 1);
    return TAKT_OK;
}

static bool has_port(const takt_graph *g, takt_edge_kind kind, const char *name)
{
    return takt_edge_find(g, kind, name) != SIZE_MAX;
}

static takt_id fail_duplicate(takt_graph *g, const char *what, const char *name)
{
    return takt_graph_fail(
        g, takt_fail(g->ctx, TAKT_E_DUPLICATE, "the model has two %s called %s", what, name));
}

takt_id takt_graph_input(takt_graph *g, const char *name, const takt_type *type)
{
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    if (has_port(g, TAKT_EDGE_INPUT, name))
        return fail_duplicate(g, "inputs", name);
    g->next_name = takt_arena_text(&g->arena, name, strlen(name));
    const takt_named_attr attrs[] = {{"name", takt_attr_string(name)},
                                     {"type", takt_attr_type_of(type)}};
    const takt_id id = takt_graph_call(g, &takt_op_input, 0, NULL, 2, attrs);
    if (id == TAKT_NONE)
        return id;
    const takt_status status = add_port(g, TAKT_EDGE_INPUT, (takt_port){name, id});
    return status == TAKT_OK ? id : takt_graph_fail(g, status);
}

takt_id takt_graph_constant(takt_graph *g, const takt_tensor *tensor)
{
    const takt_named_attr attr = {"value", {.tensor = tensor, .is_set = true}};
    return takt_graph_call(g, &takt_op_constant, 0, NULL, 1, &attr);
}

takt_id takt_graph_constant_apart(takt_graph *g, const takt_tensor *tensor)
{
    g->keeps_apart = true;
    const takt_id id = takt_graph_constant(g, tensor);
    g->keeps_apart = false;
    return id;
}

takt_slot *takt_graph_find_slot(const takt_graph *g, const char *name)
{
    const size_t i = takt_edge_find(g, TAKT_EDGE_SLOT, name);
    return i != SIZE_MAX ? &g->slots[i] : NULL;
}

static takt_status add_slot(takt_graph *g, takt_slot slot)
{
    void *array = g->slots;
    TAKT_TRY(takt_edge_reserve(g));
    TAKT_TRY(takt_mem_grow(g->ctx, &array, &g->slot_capacity, g->slot_count + 1, sizeof slot));
    g->slots = array;
    if (slot.init.tensor != NULL)
        TAKT_TRY(takt_graph_hold_tensor(g, slot.init.tensor, &slot.init.tensor));
    slot.name = takt_arena_text(&g->arena, slot.name, strlen(slot.name));
    if (slot.name == NULL)
        return TAKT_ERR_MEMORY;
    g->slots[g->slot_count++] = slot;
    takt_edge_add(g, TAKT_EDGE_SLOT, g->slot_count - 1);
    return TAKT_OK;
}

takt_id takt_graph_slot(takt_graph *g, const char *name, const takt_type *type,
                        const takt_init *init, bool is_trainable)
{
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    if (takt_graph_find_slot(g, name) != NULL)
        return fail_duplicate(g, "parameters or states", name);
    g->next_name = takt_arena_text(&g->arena, name, strlen(name));
    const takt_named_attr attrs[] = {{"name", takt_attr_string(name)},
                                     {"type", takt_attr_type_of(type)}};
    const takt_id id = takt_graph_call(g, &takt_op_state, 0, NULL, 2, attrs);
    if (id == TAKT_NONE)
        return id;
    const takt_slot slot = {.name = name,
                            .type = *type,
                            .init = *init,
                            .value = id,
                            .next = TAKT_NONE,
                            .is_trainable = is_trainable};
    const takt_status status = add_slot(g, slot);
    return status == TAKT_OK ? id : takt_graph_fail(g, status);
}

void takt_graph_set_next(takt_graph *g, const char *name, takt_id value)
{
    if (g->status != TAKT_OK)
        return;
    takt_slot *slot = takt_graph_find_slot(g, name);
    if (slot == NULL) {
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_NAME, "there is no state called %s", name));
        return;
    }
    if (value >= g->count || !takt_type_same(g->dims, &slot->type, takt_type_of(g, value))) {
        char want[TAKT_TYPE_TEXT], got[TAKT_TYPE_TEXT] = "nothing";
        takt_type_text(g->dims, &slot->type, want);
        if (value < g->count)
            takt_type_text(g->dims, takt_type_of(g, value), got);
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_SHAPE,
                                     "state %s is %s but its next value is %s", name, want, got));
        return;
    }
    slot->next = value;
}

void takt_graph_output(takt_graph *g, const char *name, takt_id id)
{
    if (g->status != TAKT_OK)
        return;
    if (id >= g->count)
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_ARGUMENT, "output %s is not a node", name));
    else if (g->nodes[id].out_count != 1)
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_ARITY, "output %s is a node with %u results",
                                     name, g->nodes[id].out_count));
    else if (has_port(g, TAKT_EDGE_OUTPUT, name))
        fail_duplicate(g, "outputs", name);
    else
        takt_graph_fail_if(g, add_port(g, TAKT_EDGE_OUTPUT, (takt_port){name, id}));
}

static takt_status add_check(takt_graph *g, takt_check check)
{
    void *array = g->checks;
    TAKT_TRY(takt_mem_grow(g->ctx, &array, &g->check_capacity, g->check_count + 1, sizeof check));
    g->checks = array;
    check.text = takt_arena_text(&g->arena, check.text, strlen(check.text));
    if (check.message != NULL &&
        (check.message = takt_arena_text(&g->arena, check.message, strlen(check.message))) == NULL)
        return TAKT_ERR_MEMORY;
    if (check.text == NULL)
        return TAKT_ERR_MEMORY;
    g->checks[g->check_count++] = check;
    return TAKT_OK;
}

void takt_graph_check(takt_graph *g, takt_check check)
{
    if (g->status != TAKT_OK)
        return;
    if (check.id >= g->count || g->nodes[check.id].out_count != 1 ||
        takt_type_of(g, check.id)->dtype != TAKT_BOOL)
        takt_graph_fail(g, takt_fail(g->ctx, TAKT_E_DTYPE, "%s: the condition \"%s\" is not a bool",
                                     check.is_require ? "require" : "ensure", check.text));
    else
        takt_graph_fail_if(g, add_check(g, check));
}

takt_id takt_graph_get(takt_graph *g, takt_id node, size_t index)
{
    if (g->status != TAKT_OK || node == TAKT_NONE)
        return TAKT_NONE;
    if (node < g->count && g->nodes[node].out_count == 1 && index == 0)
        return node;
    const takt_named_attr attr = {"index", takt_attr_i64((int64_t)index)};
    return takt_graph_call(g, &takt_op_get, 1, &node, 1, &attr);
}

uint32_t takt_graph_stream(takt_graph *g)
{
    return g->streams++;
}

/* NULL after a failure. */
static takt_origin *make_origin(takt_graph *g, const char *name, const char *layer, int line)
{
    takt_origin *origin = takt_arena_array(&g->arena, 1, sizeof *origin);
    if (origin != NULL) {
        origin->line = line;
        origin->name = takt_arena_text(&g->arena, name, strlen(name));
        if (layer != NULL)
            origin->layer = takt_arena_text(&g->arena, layer, strlen(layer));
    }
    if (origin != NULL && origin->name != NULL && (layer == NULL || origin->layer != NULL))
        return origin;
    takt_graph_fail(g, TAKT_ERR_MEMORY);
    return NULL;
}

void takt_graph_set_layer(takt_graph *g, const char *name, const char *layer, int line)
{
    const takt_origin *origin = make_origin(g, name, layer, line);
    if (origin != NULL)
        g->origin = origin;
}

void takt_graph_set_origin(takt_graph *g, const char *name, int line)
{
    takt_graph_set_layer(g, name, NULL, line);
}

void takt_graph_inherit(takt_graph *g, const takt_node *from)
{
    const takt_origin *chain = NULL;
    for (const takt_origin *o = from->origin; o != NULL; o = o->next) {
        takt_origin *copy = make_origin(g, o->name, o->layer, o->line);
        if (copy == NULL)
            return;
        copy->next = chain;
        chain = copy;
    }
    g->origin = chain;
    g->next_name = NULL;
    if (from->name != NULL) {
        g->next_name = takt_arena_text(&g->arena, from->name, strlen(from->name));
        takt_graph_fail_if(g, g->next_name == NULL ? TAKT_ERR_MEMORY : TAKT_OK);
    }
}

takt_status takt_graph_hold_tensor(takt_graph *g, const takt_tensor *tensor,
                                   const takt_tensor **held)
{
    void *array = g->tensors;
    const takt_status status =
        takt_mem_grow(g->ctx, &array, &g->tensor_capacity, g->tensor_count + 1, sizeof *g->tensors);
    g->tensors = array;
    TAKT_TRY(status);
    const takt_tensor *copy = takt_arena_copy(&g->arena, tensor, sizeof *tensor);
    if (copy == NULL)
        return TAKT_ERR_MEMORY;
    takt_storage_retain(tensor->storage);
    g->tensors[g->tensor_count++] = copy;
    *held = copy;
    return TAKT_OK;
}

takt_status takt_graph_hold_child(takt_graph *g, takt_graph *child)
{
    if ((uint64_t)child->depth + 1 >= g->ctx->limits.depth)
        return takt_fail(g->ctx, TAKT_E_NESTING, "subgraphs are nested deeper than %llu",
                         (unsigned long long)g->ctx->limits.depth);
    void *array = g->children;
    const takt_status status =
        takt_mem_grow(g->ctx, &array, &g->child_capacity, g->child_count + 1, sizeof *g->children);
    g->children = array;
    TAKT_TRY(status);
    takt_graph_retain(child);
    g->children[g->child_count++] = child;
    if (child->depth + 1 > g->depth)
        g->depth = child->depth + 1;
    return TAKT_OK;
}
