/* report_layers.c - the nodes of a graph, gathered into the layers they come from.
 *
 * A node's origin is the scope of the layer call that made it ("stage_0.conv_0"), or the name that
 * a statement outside all layers assigns to. Shapes are read where names still stand for sizes;
 * arithmetic is counted with numbers put in, on the lowered graph, where its cost is exact.
 */
#include <string.h>

#include "api/report.h"
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
        layer->nodes++;
    }
    return TAKT_OK;
}

static takt_status add_slots(takt_layers *l)
{
    for (size_t i = 0; i < l->sized->slot_count; i++) {
        const takt_slot *s = &l->sized->slots[i];
        const char *dot = strrchr(s->name, '.');
        const size_t length = dot != NULL ? (size_t)(dot - s->name) : strlen(s->name);
        takt_layer *layer = obtain(l, s->name, length);
        size_t count = 0;
        if (layer == NULL)
            return TAKT_ERR_MEMORY;
        (void)takt_type_count(&s->type, &count);
        *(s->is_trainable ? &layer->parameters : &layer->state) += count;
        layer->has_slots = true;
        if (layer->out == NULL) {
            layer->out = &s->type;
            layer->type = s->is_trainable ? "parameter" : "state";
        }
    }
    return TAKT_OK;
}

static void add_costs(takt_layers *l)
{
    for (size_t i = 0; i < l->sized->count; i++) {
        const takt_node *n = &l->sized->nodes[i];
        takt_cost cost = {0};
        if ((n->op->traits & TAKT_LEAF) != 0)
            continue;
        takt_layer *layer = find(l, origin_of(n), strlen(origin_of(n)));
        takt_add_cost(l->sized, (takt_id)i, &cost);
        if (layer == NULL)
            continue;
        layer->flops += cost.flops;
        layer->macs += (n->op->traits & TAKT_CONTRACTS) != 0 ? cost.flops / 2 : 0;
    }
}

/* "stage_0.conv_1" is a conv if it has parameters or there is such an op; else the costliest op
 * of the layer gives the name. */
static takt_status name_types(takt_layers *l)
{
    for (size_t i = 0; i < l->plain->count; i++) {
        const takt_node *n = &l->plain->nodes[i];
        takt_cost cost = {0};
        takt_layer *layer =
            (n->op->traits & TAKT_LEAF) != 0 ? NULL : find(l, origin_of(n), strlen(origin_of(n)));
        if (layer == NULL || layer->is_input)
            continue;
        takt_add_cost(l->plain, (takt_id)i, &cost);
        if (layer->type == NULL || cost.flops > layer->top_flops) {
            layer->type = n->op->name;
            layer->top_flops = cost.flops;
        }
    }
    for (size_t i = 0; i < l->count; i++) {
        takt_layer *layer = &l->at[i];
        const char *dot = strrchr(layer->name, '.'), *last = dot != NULL ? dot + 1 : layer->name;
        const char *bar = strrchr(last, '_');
        if (layer->nodes == 0 || bar == NULL || bar == last || bar[1] == '\0' ||
            strspn(bar + 1, "0123456789") != strlen(bar + 1))
            continue;
        const size_t length = (size_t)(bar - last);
        if (layer->has_slots || takt_op_find(last, length) != NULL)
            layer->type = takt_arena_text(&l->arena, last, length);
        if (layer->type == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

static takt_status make_graphs(takt_layers *l, const takt_model *m, const char *text)
{
    int64_t *sizes;
    size_t count;
    TAKT_TRY(takt_parse_sizes(m->ctx, &l->arena, m->graph->dims, text, &sizes, &count));
    TAKT_TRY(takt_graph_specialize(m->graph, sizes, count, &l->named));
    for (size_t i = 0; i < count; i++)
        sizes[i] = sizes[i] < 0 ? 1 : sizes[i];
    TAKT_TRY(takt_graph_specialize(m->graph, sizes, count, &l->plain));
    return takt_graph_lower(l->plain, NULL, NULL, &l->sized);
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
    add_costs(l);
    return name_types(l);
}

takt_status takt_layers_init(takt_layers *l, const takt_model *m, const char *sizes)
{
    memset(l, 0, sizeof *l);
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
