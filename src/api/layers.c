/* layers.c - the nodes of a graph, gathered into the layers they come from.
 *
 * A node's origin is the scope of the layer call that made it ("stage_0.conv_0"), or the name that
 * a statement outside all layers assigns to. Shapes are read while sizes are still names;
 * arithmetic is counted with numbers substituted, on the lowered graph, where its cost is exact.
 */
#include <string.h>

#include "api/layers.h"
#include "base/hash.h"
#include "ir/leaves.h"
#include "op/ops.h"
#include "pass/pass.h"
#include "plan/finish.h"

static takt_layer *find(takt_layers *l, const char *name, size_t length)
{
    size_t slot = takt_hash_bytes(7, name, length) & (l->table_size - 1);
    for (; l->table[slot] != 0; slot = (slot + 1) & (l->table_size - 1)) {
        takt_layer *layer = &l->at[l->table[slot] - 1];
        if (takt_span_is((takt_span){name, length}, layer->name))
            return layer;
    }
    return NULL;
}

/* The layer of that name, made if new; there is room for one per node, input and slot. */
static takt_layer *obtain(takt_layers *l, const char *name, size_t length)
{
    takt_layer *layer = find(l, name, length);
    if (layer != NULL)
        return layer;
    size_t slot = takt_hash_bytes(7, name, length) & (l->table_size - 1);
    while (l->table[slot] != 0)
        slot = (slot + 1) & (l->table_size - 1);
    layer = &l->at[l->count++];
    l->table[slot] = (uint32_t)l->count;
    layer->name = takt_arena_text(&l->arena, name, length);
    return layer->name != NULL ? layer : NULL;
}

static const char *origin_of(const takt_node *n)
{
    return n->origin != NULL ? n->origin->name : n->op->name;
}

static takt_status add_inputs(takt_layers *l)
{
    for (size_t i = 0; i < l->named->input_count; i++) {
        const takt_port *p = &l->named->inputs[i];
        takt_layer *layer = obtain(l, p->name, strlen(p->name));
        if (layer == NULL)
            return TAKT_ERR_MEMORY;
        layer->out = takt_type_of(l->named, p->id);
        layer->type = "input";
        layer->is_input = true;
    }
    return TAKT_OK;
}

/* Only layers that compute appear, in the order of their last value; inputs come first. */
static takt_status add_nodes(takt_layers *l)
{
    for (size_t i = 0; i < l->named->count; i++) {
        const takt_node *n = &l->named->nodes[i];
        if ((n->op->traits & TAKT_LEAF) != 0)
            continue;
        takt_layer *layer = obtain(l, origin_of(n), strlen(origin_of(n)));
        if (layer == NULL)
            return TAKT_ERR_MEMORY;
        layer->out = n->type;
        layer->last = i;
        layer->nodes++;
    }
    return TAKT_OK;
}

/* Per node of `g` the first that reads it, or TAKT_NONE. */
static takt_id *first_readers(takt_layers *l, const takt_graph *g)
{
    takt_id *readers = takt_arena_array(&l->arena, g->count + 1, sizeof *readers);
    for (size_t i = 0; readers != NULL && i < g->count; i++)
        readers[i] = TAKT_NONE;
    for (size_t i = g->count; readers != NULL && i-- > 0;)
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                readers[g->nodes[i].in[k]] = (takt_id)i;
    return readers;
}

/* The layer in the slot's name; if the format uses other names, that of the first node that reads
 * it. */
static takt_layer *layer_of(takt_layers *l, const takt_slot *s, takt_id reader)
{
    const char *dot = strrchr(s->name, '.');
    const size_t length = dot != NULL ? (size_t)(dot - s->name) : strlen(s->name);
    takt_layer *layer = find(l, s->name, length);
    if (layer == NULL && reader != TAKT_NONE) {
        const char *origin = origin_of(&l->sized->nodes[reader]);
        layer = find(l, origin, strlen(origin));
        if (layer != NULL)
            return layer;
    }
    layer = layer != NULL ? layer : obtain(l, s->name, length);
    if (layer != NULL)
        layer->has_slots = true;
    return layer;
}

static takt_status add_slots(takt_layers *l)
{
    const takt_id *readers = first_readers(l, l->sized);
    for (size_t i = 0; i < l->sized->slot_count; i++) {
        const takt_slot *s = &l->sized->slots[i];
        takt_layer *layer = readers != NULL ? layer_of(l, s, readers[s->value]) : NULL;
        size_t count = 0;
        if (layer == NULL)
            return TAKT_ERR_MEMORY;
        (void)takt_type_count(&s->type, &count);
        *(s->is_trainable ? &layer->parameters : &layer->state) += count;
        if (layer->out == NULL) {
            layer->out = &s->type;
            layer->type = s->is_trainable ? "parameter" : "state";
        }
    }
    return TAKT_OK;
}

static bool is_weight(const takt_node *n)
{
    return n->op == &takt_op_constant && n->type->rank > 0 &&
           (takt_dtype_is_float(n->type->dtype) || takt_dtype_bits(n->type->dtype) <= 8);
}

/* Where a model has no parameters, its weights are constants: the format does not tell the two
 * apart. Indices and shapes are not weights. A weight belongs to the first layer that reads it. */
static takt_status add_constants(takt_layers *l)
{
    const takt_graph *g = l->named;
    bool *seen = takt_arena_array(&l->arena, g->count, sizeof *seen);
    if (seen == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; l->sized->slot_count == 0 && i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        takt_layer *layer = find(l, origin_of(n), strlen(origin_of(n)));
        for (uint32_t k = 0; layer != NULL && k < n->in_count; k++) {
            const takt_id id = n->in[k];
            size_t count = 0, bytes = 0;
            if (id == TAKT_NONE || seen[id] || !is_weight(&g->nodes[id]))
                continue;
            seen[id] = true;
            if (takt_type_count(g->nodes[id].type, &count))
                layer->parameters += count;
            if (takt_type_bytes(g->nodes[id].type, &bytes))
                l->constant_bytes += bytes;
        }
    }
    return TAKT_OK;
}

/* How often the body of a scan runs; 1 for what is known only at run time. */
static double iterations(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_scan)
        return 1;
    const takt_attr *carried = takt_node_attr(n, "carried");
    const takt_attr *axes = takt_node_attr(n, "axes");
    const takt_type *sequence = takt_type_of(g, n->in[carried->i64]);
    const int64_t axis = axes->count > 0 ? axes->i64s[0] : 0;
    const takt_dim length = sequence->dim[axis < 0 ? axis + sequence->rank : axis];
    return takt_dim_is_number(length) ? (double)length : 1;
}

/* The cost of one node executed `times` times, with its subgraphs, which nest no deeper than
 * limits.depth. */
static void add_cost(const takt_graph *g, takt_id id, double times, takt_layer *layer)
{
    const takt_node *n = &g->nodes[id];
    takt_cost cost = {0};
    takt_add_cost(g, id, &cost);
    layer->flops += times * cost.flops;
    layer->macs += (n->op->traits & TAKT_CONTRACTS) != 0 ? times * cost.flops / 2 : 0;
    for (size_t a = 0; a < takt_op_attr_count(n->op); a++) {
        const bool is_graph = n->op->attrs[a].type == TAKT_ATTR_GRAPH && n->attr[a].is_set;
        const takt_graph *body = is_graph ? n->attr[a].graph : NULL;
        for (size_t i = 0; body != NULL && i < body->count; i++)
            if ((body->nodes[i].op->traits & TAKT_LEAF) == 0)
                add_cost(body, (takt_id)i, times * iterations(g, n), layer);
    }
}

static void add_costs(takt_layers *l)
{
    for (size_t i = 0; i < l->sized->count; i++) {
        const takt_node *n = &l->sized->nodes[i];
        takt_layer *layer =
            (n->op->traits & TAKT_LEAF) != 0 ? NULL : find(l, origin_of(n), strlen(origin_of(n)));
        if (layer != NULL)
            add_cost(l->sized, (takt_id)i, 1, layer);
    }
}

/* Nodes that are merged into other layers at these sizes: restores their layers. */
static void name_merged(takt_layers *l)
{
    for (size_t i = 0; i < l->named->count; i++) {
        const takt_node *n = &l->named->nodes[i];
        takt_layer *layer =
            (n->op->traits & TAKT_LEAF) != 0 ? NULL : find(l, origin_of(n), strlen(origin_of(n)));
        if (layer != NULL && layer->type == NULL)
            layer->type = n->op->name;
    }
}

/* The type of the called layer, if the text has it. Otherwise "stage_0.conv_1" is a conv if it has
 * parameters or there is such an op, or the most expensive op gives the name. */
static takt_status name_types(takt_layers *l)
{
    for (size_t i = 0; i < l->plain->count; i++) {
        const takt_node *n = &l->plain->nodes[i];
        takt_cost cost = {0};
        takt_layer *layer =
            (n->op->traits & TAKT_LEAF) != 0 ? NULL : find(l, origin_of(n), strlen(origin_of(n)));
        if (layer == NULL || layer->is_input)
            continue;
        if (n->origin != NULL && n->origin->layer != NULL) {
            layer->type = n->origin->layer;
            layer->is_called = true;
        }
        if (layer->is_called)
            continue;
        takt_add_cost(l->plain, (takt_id)i, &cost);
        if (layer->type == NULL || cost.flops > layer->top_flops) {
            layer->type = n->op->name;
            layer->top_flops = cost.flops;
        }
    }
    name_merged(l);
    for (size_t i = 0; i < l->count; i++) {
        takt_layer *layer = &l->at[i];
        const char *dot = strrchr(layer->name, '.'), *last = dot != NULL ? dot + 1 : layer->name;
        const char *bar = strrchr(last, '_');
        if (layer->nodes == 0 || layer->is_called || bar == NULL || bar == last || bar[1] == '\0' ||
            strspn(bar + 1, "0123456789") != strlen(bar + 1))
            continue;
        const size_t length = (size_t)(bar - last);
        if (!layer->has_slots && takt_op_find(last, length) == NULL)
            continue;
        layer->type = takt_arena_text(&l->arena, last, length);
        if (layer->type == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

/* The graph with these sizes, and lowered. An earlier pair is freed. */
static takt_status put_sizes(takt_layers *l, const takt_model *m)
{
    takt_graph *plain = NULL, *sized = NULL;
    TAKT_TRY(takt_graph_specialize(m->graph, l->sizes, l->size_count, &plain));
    const takt_status status = takt_graph_lower(plain, NULL, NULL, &sized);
    if (status != TAKT_OK) {
        takt_graph_destroy(plain);
        return status;
    }
    takt_graph_destroy(l->plain);
    takt_graph_destroy(l->sized);
    l->plain = plain;
    l->sized = sized;
    return TAKT_OK;
}

/* Sizes that the caller left open are 1; where that is too small for a kernel or a window, the
 * first of these sizes that is not, for as few names as necessary. */
static takt_status choose_sizes(takt_layers *l, const takt_model *m, const bool *is_free)
{
    static const int64_t tries[] = {1,   2,   4,   8,    16,    32,    64,
                                    128, 256, 512, 1024, 16384, 65536, 1 << 20};
    const size_t count = sizeof tries / sizeof *tries;
    takt_status status = TAKT_OK;
    takt_error first = {0};
    size_t t = 0;
    for (; t < count; t++) {
        for (size_t i = 0; i < l->size_count; i++)
            l->sizes[i] = is_free[i] ? tries[t] : l->sizes[i];
        status = put_sizes(l, m);
        if (status == TAKT_OK || status == TAKT_ERR_MEMORY)
            break;
        if (t == 0)
            first = m->ctx->error;
    }
    if (status == TAKT_ERR_SHAPE && l->may_be_unsized) {
        l->is_unsized = true; /* names stay, and nothing is counted */
        for (size_t i = 0; i < l->size_count; i++)
            l->sizes[i] = -1;
        status = put_sizes(l, m);
    }
    if (status != TAKT_OK && status != TAKT_ERR_MEMORY)
        m->ctx->error = first;
    TAKT_TRY(status);
    if (l->is_unsized)
        return TAKT_OK;
    l->is_all_one = t == 0;
    for (size_t i = 0; t > 0 && i < l->size_count; i++) {
        const int64_t old = l->sizes[i];
        l->sizes[i] = is_free[i] ? 1 : old;
        if (is_free[i] && put_sizes(l, m) != TAKT_OK)
            l->sizes[i] = old;
    }
    return TAKT_OK;
}

static takt_status make_graphs(takt_layers *l, const takt_model *m, const char *text)
{
    TAKT_TRY(takt_parse_sizes(m->ctx, &l->arena, m->graph->dims, text, &l->sizes, &l->size_count));
    TAKT_TRY(takt_graph_specialize(m->graph, l->sizes, l->size_count, &l->named));
    bool *is_free = takt_arena_array(&l->arena, l->size_count, sizeof *is_free);
    if (is_free == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < l->size_count; i++)
        is_free[i] = l->sizes[i] < 0;
    return choose_sizes(l, m, is_free);
}

static takt_status gather(takt_layers *l, const takt_model *m, const char *sizes)
{
    TAKT_TRY(make_graphs(l, m, sizes));
    const size_t room = l->named->count + l->named->input_count + l->named->slot_count;
    for (l->table_size = 16; l->table_size < 2 * room; l->table_size *= 2)
        ;
    l->at = takt_arena_array(&l->arena, room, sizeof *l->at);
    l->table = takt_arena_array(&l->arena, l->table_size, sizeof *l->table);
    if (l->at == NULL || l->table == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(add_inputs(l));
    TAKT_TRY(add_nodes(l));
    TAKT_TRY(add_slots(l));
    TAKT_TRY(add_constants(l));
    if (!l->is_unsized)
        add_costs(l);
    return name_types(l);
}

takt_status takt_layers_init(takt_layers *l, const takt_model *m, const char *sizes)
{
    *l = (takt_layers){.may_be_unsized = l->may_be_unsized};
    takt_arena_init(&l->arena, m->ctx);
    const takt_status status = gather(l, m, sizes);
    if (status != TAKT_OK)
        takt_layers_deinit(l);
    return status;
}

void takt_layers_deinit(takt_layers *l)
{
    takt_graph_destroy(l->named);
    takt_graph_destroy(l->plain);
    takt_graph_destroy(l->sized);
    takt_arena_deinit(&l->arena);
}
