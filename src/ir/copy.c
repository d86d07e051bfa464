/* copy.c - copying nodes from one graph to another, and finding the live ones. */
#include <string.h>

#include "base/mem.h"
#include "ir/graph.h"

takt_status takt_graph_begin_copy(const takt_graph *from, takt_graph *to, takt_id *map)
{
    for (size_t i = 0; i < from->count; i++)
        map[i] = TAKT_NONE;
    for (size_t i = 0; i < from->input_count; i++) {
        const takt_port *p = &from->inputs[i];
        takt_graph_inherit(to, &from->nodes[p->id]);
        map[p->id] = takt_graph_input(to, p->name, takt_type_of(from, p->id));
    }
    for (size_t i = 0; i < from->slot_count; i++) {
        const takt_slot *s = &from->slots[i];
        takt_graph_inherit(to, &from->nodes[s->value]);
        map[s->value] = takt_graph_slot(to, s->name, &s->type, &s->init, s->is_trainable);
    }
    to->origin = NULL;
    return to->status;
}

takt_status takt_graph_end_copy(const takt_graph *from, takt_graph *to, const takt_id *map)
{
    for (size_t i = 0; i < from->output_count; i++)
        takt_graph_output(to, from->outputs[i].name, map[from->outputs[i].id]);
    for (size_t i = 0; i < from->slot_count; i++)
        if (from->slots[i].next != TAKT_NONE)
            takt_graph_set_next(to, from->slots[i].name, map[from->slots[i].next]);
    for (size_t i = 0; i < from->check_count; i++) {
        takt_check check = from->checks[i];
        check.id = map[check.id];
        takt_graph_check(to, check);
    }
    return to->status;
}

takt_id takt_graph_copy_node(takt_graph *to, const takt_node *n, const takt_id *in)
{
    takt_graph_inherit(to, n);
    return takt_graph_append(to, n->op, n->in_count, in, n->attr);
}

void takt_graph_live(const takt_graph *g, unsigned char *live)
{
    memset(live, 0, g->count);
    for (size_t i = 0; i < g->output_count; i++)
        live[g->outputs[i].id] = 1;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            live[g->slots[i].next] = 1;
    for (size_t i = 0; i < g->check_count; i++)
        live[g->checks[i].id] = 1;
    for (size_t i = g->count; i-- > 0;) { /* inputs have smaller ids, so one sweep suffices */
        const takt_node *n = &g->nodes[i];
        if (n->op->traits & TAKT_SIZES)
            live[i] = 1;
        if (!live[i])
            continue;
        for (size_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                live[n->in[k]] = 1;
    }
}
