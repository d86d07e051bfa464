/* checks.c - clauses (require and ensure) as results that a plan computes, or none of them.
 *
 * The condition of each clause is one more output, after those of the model: one byte per element,
 * which fuses with the producer of the value. A session looks for the first 0 in them. */
#include <stdio.h>

#include "ir/leaves.h"
#include "pass/copier.h"
#include "pass/pass.h"

static bool is_empty(const takt_type *type)
{
    for (int d = 0; d < type->rank; d++)
        if (type->dim[d] == 0)
            return true;
    return false;
}

/* The graph's own outputs, next values and clauses, without those that have no elements. */
static takt_status finish(takt_copier *c, bool on)
{
    const takt_graph *in = c->in;
    takt_graph *g = c->out;
    for (size_t i = 0; i < in->output_count; i++)
        takt_graph_output(g, in->outputs[i].name, c->map[in->outputs[i].id]);
    for (size_t i = 0; i < in->slot_count; i++)
        if (in->slots[i].next != TAKT_NONE)
            takt_graph_set_next(g, in->slots[i].name, c->map[in->slots[i].next]);
    for (size_t i = 0; on && i < in->check_count; i++) {
        takt_check check = in->checks[i];
        char name[32];
        check.id = c->map[check.id];
        if (g->status != TAKT_OK || is_empty(takt_type_of(g, check.id)))
            continue;
        takt_graph_check(g, check);
        snprintf(name, sizeof name, "(check %zu)", g->check_count);
        takt_graph_output(g, name, check.id);
    }
    return g->status;
}

static void mark_live(takt_copier *c, bool on)
{
    const takt_graph *g = c->in;
    if (on)
        return;
    for (size_t i = 0; i < g->count; i++)
        c->live[i] = 0;
    for (size_t i = 0; i < g->output_count; i++)
        c->live[g->outputs[i].id] = 1;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            c->live[g->slots[i].next] = 1;
    for (size_t i = 0; i < g->count; i++)
        c->live[i] |= (g->nodes[i].op->traits & TAKT_SIZES) != 0;
    for (size_t i = g->count; i-- > 0;)
        for (uint32_t k = 0; c->live[i] && k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE)
                c->live[g->nodes[i].in[k]] = 1;
}

takt_status takt_graph_checks(const takt_graph *in, bool on, takt_graph **out)
{
    takt_copier c;
    *out = NULL;
    takt_status status = takt_copier_init(&c, in);
    if (status == TAKT_OK) {
        mark_live(&c, on);
        status = takt_graph_begin_copy(in, c.out, c.map);
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&c, (takt_id)i);
        c.map[i] = takt_graph_append(c.out, n.op, n.in_count, n.in, n.attr);
        status = c.out->status;
    }
    if (status == TAKT_OK)
        status = finish(&c, on);
    takt_arena_deinit(&c.arena);
    if (status != TAKT_OK)
        takt_graph_destroy(c.out);
    else
        *out = c.out;
    return status;
}

size_t takt_graph_shown(const takt_graph *g)
{
    return g->output_count - g->check_count;
}
