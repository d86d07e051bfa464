/* freeze.c - parameters become constants: what inference does to a model. */
#include "pass/copier.h"

static bool is_frozen(const takt_slot *slot, const takt_tensor *value)
{
    return slot->next == TAKT_NONE && value->storage != NULL;
}

static takt_status edges(takt_copier *c, const takt_tensor *values)
{
    for (size_t i = 0; i < c->in->input_count; i++) {
        const takt_port *p = &c->in->inputs[i];
        takt_graph_inherit(c->out, &c->in->nodes[p->id]);
        c->map[p->id] = takt_graph_input(c->out, p->name, takt_type_of(c->in, p->id));
    }
    for (size_t i = 0; i < c->in->slot_count; i++) {
        const takt_slot *s = &c->in->slots[i];
        takt_graph_inherit(c->out, &c->in->nodes[s->value]);
        if (is_frozen(s, &values[i]))
            c->map[s->value] = takt_graph_constant(c->out, &values[i]);
        else
            c->map[s->value] =
                takt_graph_slot(c->out, s->name, &s->type, &s->init, s->is_trainable);
    }
    return c->out->status;
}

takt_status takt_graph_freeze(const takt_graph *in, const takt_tensor *values, takt_graph **out)
{
    takt_copier c;
    takt_status status = takt_copier_init(&c, in);
    if (status == TAKT_OK)
        status = edges(&c, values);
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&c, (takt_id)i);
        c.map[i] = takt_graph_copy_node(c.out, &n, n.in);
        status = c.out->status;
    }
    return takt_copier_done(&c, status, out);
}
