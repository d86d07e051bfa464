/* bounds.c - bounds of all nodes of a graph, one after the other. */
#include "verify/bounds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "ir/leaves.h"
#include "op/util/formula.h"

typedef struct walk {
    const takt_graph *from;
    takt_graph *to;
    takt_arena *arena;
    takt_range **ranges; /* per node of `from` */
    const unsigned char *live;
    bool is_real;
    int depth; /* of lowerings */
} walk;

static takt_status bound_nodes(walk *w);

static bool is_point(const walk *w, const takt_node *n)
{
    if (n->op == &takt_op_state || n->op == &takt_op_custom)
        return false;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && !w->ranges[n->in[k]][0].is_point)
            return false;
    return true;
}

/* The value itself. A node with several results is also one node here. */
static void copy(walk *w, const takt_node *n, const takt_range *in, takt_range *out)
{
    takt_id *ids = takt_arena_array(w->arena, n->in_count, sizeof *ids);
    if (ids == NULL) {
        takt_graph_fail(w->to, TAKT_ERR_MEMORY);
        return;
    }
    for (uint32_t k = 0; k < n->in_count; k++)
        ids[k] = in[k].lo;
    const takt_id id = takt_graph_append(w->to, n->op, n->in_count, ids, n->attr);
    for (uint32_t k = 0; k < n->out_count; k++) {
        const takt_id one = takt_graph_get(w->to, id, k);
        out[k] = (takt_range){.lo = one, .hi = one, .is_point = true};
    }
}

/* ---- through the lowering ---- */

static takt_status lowered(const walk *w, const takt_node *n, takt_graph **g)
{
    TAKT_TRY(takt_graph_create(w->to->ctx, w->to, g));
    takt_id *in = takt_arena_array(w->arena, n->in_count, sizeof *in);
    takt_id *out = takt_arena_array(w->arena, n->out_count, sizeof *out);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++) {
        char name[24];
        in[k] = TAKT_NONE;
        for (uint32_t j = 0; j < k && n->in[k] != TAKT_NONE; j++)
            if (n->in[j] == n->in[k])
                in[k] = in[j]; /* a square remains a square */
        if (n->in[k] == TAKT_NONE || in[k] != TAKT_NONE)
            continue;
        snprintf(name, sizeof name, "x%u", k);
        in[k] = takt_graph_input(*g, name, takt_type_of(w->from, n->in[k]));
    }
    takt_node own = *n;
    own.in = in;
    memset(out, 0xff, n->out_count * sizeof *out);
    if ((*g)->status == TAKT_OK && takt_is_widened(n))
        out[0] = takt_append_widened(*g, &own);
    else if ((*g)->status == TAKT_OK)
        n->op->lower(*g, &own, out);
    for (uint32_t k = 0; k < n->out_count && (*g)->status == TAKT_OK; k++) {
        char name[24];
        snprintf(name, sizeof name, "y%u", k);
        takt_graph_output(*g, name, out[k]);
    }
    return (*g)->status;
}

static takt_status bound_lowering(walk *w, const takt_node *n, const takt_range *in,
                                  takt_range *out)
{
    enum { LEVELS = 16 };
    takt_graph *g = NULL;
    if (w->depth >= LEVELS)
        return takt_fail(w->to->ctx, TAKT_E_NESTING, "%s: its lowering does not end", n->op->name);
    takt_status status = lowered(w, n, &g);
    walk inner = {.from = g, .to = w->to, .is_real = w->is_real, .depth = w->depth + 1};
    inner.arena = w->arena;
    if (status == TAKT_OK) {
        inner.ranges = takt_arena_array(w->arena, g->count, sizeof *inner.ranges);
        unsigned char *live = takt_arena_array(w->arena, g->count, 1);
        status = inner.ranges == NULL || live == NULL ? TAKT_ERR_MEMORY : TAKT_OK;
        if (status == TAKT_OK)
            takt_graph_live(g, live);
        inner.live = live;
    }
    size_t at = 0;
    for (uint32_t k = 0; status == TAKT_OK && k < n->in_count; k++) {
        bool is_repeated = n->in[k] == TAKT_NONE;
        for (uint32_t j = 0; j < k && !is_repeated; j++)
            is_repeated = n->in[j] == n->in[k];
        if (!is_repeated)
            inner.ranges[g->inputs[at++].id] = (takt_range *)&in[k];
    }
    if (status == TAKT_OK)
        status = bound_nodes(&inner);
    for (uint32_t k = 0; status == TAKT_OK && k < n->out_count; k++)
        out[k] = inner.ranges[g->outputs[k].id][0];
    takt_graph_destroy(g);
    return status;
}

/* ---- nodes ---- */

/* In narrow types every node of a lowering is rounded, which an op's own bound does not count. */
static bool is_rounded_inside(const takt_node *n)
{
    const takt_dtype dtype = n->type[0].dtype;
    return n->op->lower != NULL && (n->op->traits & TAKT_WHOLE) == 0 &&
           (dtype == TAKT_F16 || dtype == TAKT_BF16);
}

static takt_status bound_node(walk *w, const takt_node *n, const takt_range *in, takt_range *out)
{
    takt_bounding b = {
        .g = w->to, .model = w->from, .node = n, .in = in, .out = out, .is_real = w->is_real};
    if (n->op->bound != NULL && !is_rounded_inside(n))
        n->op->bound(&b);
    else if (n->op->lower != NULL && n->op->no_bound == NULL)
        return bound_lowering(w, n, in, out);
    else
        takt_bound_any(&b);
    return w->to->status;
}

static takt_status visit(walk *w, takt_id id)
{
    const takt_node *n = &w->from->nodes[id];
    if (n->op == &takt_op_get) {
        w->ranges[id] = &w->ranges[n->in[0]][n->attr[0].i64];
        return TAKT_OK;
    }
    takt_range *in = takt_arena_array(w->arena, n->in_count, sizeof *in);
    takt_range *out = takt_arena_array(w->arena, n->out_count, sizeof *out);
    if (in == NULL || out == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = n->in[k] != TAKT_NONE ? w->ranges[n->in[k]][0]
                                      : (takt_range){TAKT_NONE, TAKT_NONE, true};
    w->ranges[id] = out;
    takt_graph_inherit(w->to, n);
    w->to->next_name = NULL;
    if (is_point(w, n))
        copy(w, n, in, out);
    else
        TAKT_TRY(bound_node(w, n, in, out));
    return w->to->status;
}

static takt_status bound_nodes(walk *w)
{
    for (size_t i = 0; i < w->from->count; i++)
        if (w->live[i] && w->ranges[i] == NULL)
            TAKT_TRY(visit(w, (takt_id)i));
    return TAKT_OK;
}

/* ---- inputs ---- */

static takt_status declare(walk *w, const takt_bounds_options *o)
{
    for (size_t i = 0; i < w->from->input_count; i++) {
        const takt_port *p = &w->from->inputs[i];
        takt_type type = *takt_type_of(w->from, p->id);
        takt_range *r = takt_arena_array(w->arena, 1, sizeof *r);
        char name[512];
        if (r == NULL)
            return TAKT_ERR_MEMORY;
        w->ranges[p->id] = r;
        if (o->is_known != NULL && o->is_known[i]) {
            r->lo = r->hi = takt_graph_input(w->to, p->name, &type);
            r->is_point = true;
            continue;
        }
        type.dtype = TAKT_F64;
        snprintf(name, sizeof name, "%.500s.lo", p->name);
        r->lo = takt_graph_input(w->to, name, &type);
        snprintf(name, sizeof name, "%.500s.hi", p->name);
        r->hi = takt_graph_input(w->to, name, &type);
    }
    return w->to->status;
}

static takt_status mark(walk *w, const takt_bounds_options *o)
{
    unsigned char *live = takt_arena_array(w->arena, w->from->count, 1);
    w->live = live;
    if (live == NULL)
        return TAKT_ERR_MEMORY;
    takt_graph_live(w->from, live);
    for (size_t i = w->from->count; o->is_wanted != NULL && i-- > 0;) {
        const takt_node *n = &w->from->nodes[i];
        live[i] = live[i] || o->is_wanted[i];
        for (uint32_t k = 0; live[i] && k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                live[n->in[k]] = 1;
    }
    return TAKT_OK;
}

static takt_status build(walk *w, const takt_bounds_options *o)
{
    w->ranges = takt_arena_array(w->arena, w->from->count, sizeof *w->ranges);
    if (w->ranges == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(mark(w, o));
    TAKT_TRY(declare(w, o));
    return bound_nodes(w);
}

takt_status takt_bounds_init(const takt_graph *model, const takt_bounds_options *options,
                             takt_bounds *i)
{
    static const takt_bounds_options usual = {0};
    const takt_bounds_options *o = options != NULL ? options : &usual;
    *i = (takt_bounds){0};
    takt_arena_init(&i->arena, model->ctx);
    takt_status status = takt_graph_create(model->ctx, model, &i->graph);
    walk w = {.from = model, .to = i->graph, .arena = &i->arena, .is_real = o->is_real};
    if (status == TAKT_OK)
        status = build(&w, o);
    i->ranges = w.ranges;
    if (status != TAKT_OK)
        takt_bounds_deinit(i);
    return status;
}

void takt_bounds_deinit(takt_bounds *i)
{
    takt_graph_destroy(i->graph);
    takt_arena_deinit(&i->arena);
    *i = (takt_bounds){0};
}

takt_status takt_bounds_node(takt_graph *g, const takt_graph *model, const takt_node *n,
                             const takt_range *in, bool is_real, takt_range *out)
{
    walk w = {.from = model, .to = g, .arena = &g->arena, .is_real = is_real};
    return bound_node(&w, n, in, out);
}
