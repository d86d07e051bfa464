/* extract.c - the part of a graph between named values.
 *
 * Everything before the values of `from` is dropped: they become inputs. Everything that the values
 * of `to` do not need is dropped too: they become the outputs. A part keeps the parameters it uses,
 * and the states it reads together with the producers of their next values, so that parts that run
 * in order, each fed with the results of the one before, compute the same as the whole. */
#include <string.h>

#include "base/near.h"
#include "ir/leaves.h"
#include "ir/name.h"
#include "pass/pass.h"

typedef struct extraction {
    const takt_graph *in;
    const takt_cut *cut;
    takt_arena arena;
    takt_name_table names;
    unsigned char *live, *is_cut;
    takt_id *from, *to, *map;
    takt_id *inputs; /* of the node being copied */
    takt_graph *out;
} extraction;

/* ---- names ---- */

static takt_id find_port(const takt_port *ports, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(ports[i].name, name) == 0)
            return ports[i].id;
    return TAKT_NONE;
}

/* The last value of a layer, or of a statement. */
static takt_id find_origin(const takt_graph *g, const char *name)
{
    for (size_t i = g->count; i > 0; i--)
        for (const takt_origin *o = g->nodes[i - 1].origin; o != NULL; o = o->next)
            if ((g->nodes[i - 1].op->traits & TAKT_LEAF) == 0 && strcmp(o->name, name) == 0)
                return (takt_id)(i - 1);
    return TAKT_NONE;
}

static takt_status fail_unknown(const extraction *x, const char *name)
{
    const takt_graph *g = x->in;
    takt_nearest near = takt_nearest_to(name);
    for (size_t i = 0; i < g->input_count; i++)
        takt_nearest_try(&near, g->inputs[i].name);
    for (size_t i = 0; i < g->output_count; i++)
        takt_nearest_try(&near, g->outputs[i].name);
    for (size_t i = 0; i < g->count; i++) {
        if (x->names.of[i] != NULL)
            takt_nearest_try(&near, x->names.of[i]);
        for (const takt_origin *o = g->nodes[i].origin; o != NULL; o = o->next)
            if ((g->nodes[i].op->traits & TAKT_LEAF) == 0)
                takt_nearest_try(&near, o->name);
    }
    takt_fail(g->ctx, TAKT_E_NAME, "the model has no value called %s", name);
    return takt_fail_hint(g->ctx,
                          "%s%.100s%s`takt extract MODEL` prints all values with their names, "
                          "`takt summary` the layers",
                          near.best != NULL ? "did you mean " : "",
                          near.best != NULL ? near.best : "", near.best != NULL ? "? " : "");
}

/* An input, an output, a printed value, or a layer. */
static takt_status find(extraction *x, const char *name, takt_id *id)
{
    const takt_graph *g = x->in;
    *id = find_port(g->inputs, g->input_count, name);
    if (*id == TAKT_NONE)
        *id = find_port(g->outputs, g->output_count, name);
    for (size_t i = 0; *id == TAKT_NONE && i < g->count; i++)
        if (x->names.of[i] != NULL && strcmp(x->names.of[i], name) == 0)
            *id = (takt_id)i;
    if (*id == TAKT_NONE)
        *id = find_origin(g, name);
    if (*id == TAKT_NONE)
        return fail_unknown(x, name);
    if (g->nodes[*id].out_count != 1)
        return takt_fail(g->ctx, TAKT_E_NAME, "%s has %u results: cut at one of them", name,
                         g->nodes[*id].out_count);
    return TAKT_OK;
}

static takt_status find_all(extraction *x, const char *const *names, size_t count, takt_id **ids)
{
    *ids = takt_arena_array(&x->arena, count, sizeof **ids);
    if (*ids == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        TAKT_TRY(find(x, names[i], &(*ids)[i]));
    return TAKT_OK;
}

/* ---- the contents of the part ---- */

/* Inputs have smaller ids, so one sweep downwards reaches them all. */
static void sweep(extraction *x)
{
    for (size_t i = x->in->count; i > 0; i--) {
        const takt_node *n = &x->in->nodes[i - 1];
        for (uint32_t k = 0; x->live[i - 1] && !x->is_cut[i - 1] && k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                x->live[n->in[k]] = 1;
    }
}

static void mark(extraction *x)
{
    const takt_graph *g = x->in;
    for (size_t i = 0; i < x->cut->from_count; i++)
        x->is_cut[x->from[i]] = 1;
    for (size_t i = 0; i < x->cut->to_count; i++)
        x->live[x->to[i]] = 1;
    for (size_t i = 0; x->cut->to_count == 0 && i < g->output_count; i++)
        x->live[g->outputs[i].id] = 1;
    for (size_t i = 0; i < g->count; i++)
        x->live[i] |= (g->nodes[i].op->traits & TAKT_SIZES) != 0;
    for (bool grows = true; grows;) { /* a state brings its next value, which may read states */
        sweep(x);
        grows = false;
        for (size_t i = 0; i < g->slot_count; i++) {
            const takt_slot *s = &g->slots[i];
            const bool is_read = x->live[s->value] && !x->is_cut[s->value];
            if (s->next != TAKT_NONE && is_read && !x->live[s->next]) {
                x->live[s->next] = 1;
                grows = true;
            }
        }
    }
}

/* ---- the part ---- */

static void declare(extraction *x)
{
    const takt_graph *g = x->in;
    for (size_t i = 0; i < g->input_count; i++) {
        const takt_port *p = &g->inputs[i];
        if (x->is_cut[p->id] || (!x->live[p->id] && !x->cut->keep_inputs))
            continue;
        takt_graph_inherit(x->out, &g->nodes[p->id]);
        x->map[p->id] = takt_graph_input(x->out, p->name, takt_type_of(g, p->id));
    }
    for (size_t i = 0; i < x->cut->from_count; i++) {
        takt_graph_inherit(x->out, &g->nodes[x->from[i]]);
        x->out->next_name = NULL;
        if (x->map[x->from[i]] == TAKT_NONE)
            x->map[x->from[i]] =
                takt_graph_input(x->out, x->cut->from[i], takt_type_of(g, x->from[i]));
    }
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *s = &g->slots[i];
        if (!x->live[s->value] || x->is_cut[s->value])
            continue;
        takt_graph_inherit(x->out, &g->nodes[s->value]);
        x->map[s->value] = takt_graph_slot(x->out, s->name, &s->type, &s->init, s->is_trainable);
    }
    x->out->origin = NULL;
}

static void copy(extraction *x)
{
    const takt_graph *g = x->in;
    for (size_t i = 0; i < g->count; i++) {
        takt_node n = g->nodes[i];
        if (!x->live[i] || x->map[i] != TAKT_NONE)
            continue;
        for (uint32_t k = 0; k < n.in_count; k++)
            x->inputs[k] = n.in[k] == TAKT_NONE ? TAKT_NONE : x->map[n.in[k]];
        x->map[i] = takt_graph_copy_node(x->out, &n, x->inputs);
    }
    for (size_t i = 0; i < x->cut->to_count; i++)
        takt_graph_output(x->out, x->cut->to[i], x->map[x->to[i]]);
    for (size_t i = 0; x->cut->to_count == 0 && i < g->output_count; i++)
        takt_graph_output(x->out, g->outputs[i].name, x->map[g->outputs[i].id]);
    for (size_t i = 0; i < g->slot_count; i++) {
        const takt_slot *s = &g->slots[i];
        if (s->next != TAKT_NONE && x->live[s->value] && !x->is_cut[s->value])
            takt_graph_set_next(x->out, s->name, x->map[s->next]);
    }
}

static takt_status extract(extraction *x)
{
    const takt_graph *g = x->in;
    size_t most = 1;
    for (size_t i = 0; i < g->count; i++)
        most = g->nodes[i].in_count > most ? g->nodes[i].in_count : most;
    x->live = takt_arena_array(&x->arena, g->count, 1);
    x->is_cut = takt_arena_array(&x->arena, g->count, 1);
    x->map = takt_arena_array(&x->arena, g->count, sizeof *x->map);
    x->inputs = takt_arena_array(&x->arena, most, sizeof *x->inputs);
    if (x->live == NULL || x->is_cut == NULL || x->map == NULL || x->inputs == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        x->map[i] = TAKT_NONE;
    TAKT_TRY(find_all(x, x->cut->from, x->cut->from_count, &x->from));
    TAKT_TRY(find_all(x, x->cut->to, x->cut->to_count, &x->to));
    mark(x);
    TAKT_TRY(takt_graph_create(g->ctx, g, &x->out));
    declare(x);
    copy(x);
    return x->out->status;
}

takt_status takt_graph_extract(const takt_graph *in, const takt_cut *cut, takt_graph **out)
{
    extraction x = {.in = in, .cut = cut};
    *out = NULL;
    takt_arena_init(&x.arena, in->ctx);
    takt_status status = takt_name_table_init(&x.names, in);
    if (status == TAKT_OK) {
        status = extract(&x);
        takt_name_table_deinit(&x.names);
    }
    takt_arena_deinit(&x.arena);
    if (status == TAKT_OK)
        *out = x.out;
    else
        takt_graph_destroy(x.out);
    return status;
}
