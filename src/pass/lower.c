/* lower.c - composite ops into the simpler ones they are made of. */
#include "ir/leaves.h"
#include "op/util/formula.h"
#include "pass/copier.h"

typedef struct lowering {
    takt_copier c;
    takt_id **results; /* per node of `in` with several results: their replacements */
    takt_keep_fn *keep;
    void *user;
    bool changed;
} lowering;

static takt_status replace(lowering *l, takt_id id, const takt_node *n)
{
    takt_id *out = takt_arena_array(&l->c.arena, n->out_count, sizeof *out);
    if (out == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->out_count; k++)
        out[k] = TAKT_NONE;
    n->op->lower(l->c.out, n, out);
    l->changed = true;
    l->c.map[id] = out[0];
    l->results[id] = out;
    return l->c.out->status;
}

/* Whatever backend has a kernel for it: bits do not depend on that. */
static takt_status widen(lowering *l, takt_id id, const takt_node *n)
{
    l->c.map[id] = takt_append_widened(l->c.out, n);
    l->changed = true;
    return l->c.out->status;
}

/* A node with subgraphs, which are lowered too; their depth is limited when they are made. */
static takt_status copy_outer(lowering *l, takt_id id, const takt_node *n)
{
    takt_attr attrs[TAKT_MAX_ATTRS];
    takt_graph *children[TAKT_MAX_ATTRS] = {0};
    const size_t count = takt_op_attr_count(n->op);
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < count && status == TAKT_OK; i++) {
        attrs[i] = n->attr[i];
        if (!attrs[i].is_set || n->op->attrs[i].type != TAKT_ATTR_GRAPH)
            continue;
        status = takt_graph_lower(n->attr[i].graph, l->keep, l->user, &children[i]);
        attrs[i].graph = children[i];
    }
    if (status == TAKT_OK) {
        l->c.map[id] = takt_graph_append(l->c.out, n->op, n->in_count, n->in, attrs);
        status = l->c.out->status;
    }
    for (size_t i = 0; i < count; i++)
        takt_graph_destroy(children[i]); /* the new node holds its own reference */
    return status;
}

static takt_status visit(lowering *l, takt_id id)
{
    const takt_node *old = &l->c.in->nodes[id];
    if (old->op == &takt_op_get && l->results[old->in[0]] != NULL) {
        l->c.map[id] = l->results[old->in[0]][old->attr[0].i64];
        return TAKT_OK;
    }
    const takt_node n = takt_copier_node(&l->c, id);
    if (n.op->lower != NULL && (l->keep == NULL || !l->keep(l->user, l->c.out, &n)))
        return takt_is_widened(&n) ? widen(l, id, &n) : replace(l, id, &n);
    if ((n.op->traits & TAKT_CONTROL) != 0)
        return copy_outer(l, id, &n);
    l->c.map[id] = takt_graph_append(l->c.out, n.op, n.in_count, n.in, n.attr);
    return l->c.out->status;
}

static takt_status once(const takt_graph *in, takt_keep_fn *keep, void *user, bool *changed,
                        takt_graph **out)
{
    lowering l = {.keep = keep, .user = user};
    takt_status status = takt_copier_init(&l.c, in);
    if (status == TAKT_OK) {
        l.results = takt_arena_array(&l.c.arena, in->count, sizeof *l.results);
        status = l.results == NULL ? TAKT_ERR_MEMORY : takt_graph_begin_copy(in, l.c.out, l.c.map);
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++)
        if (l.c.live[i] && l.c.map[i] == TAKT_NONE)
            status = visit(&l, (takt_id)i);
    *changed = l.changed;
    return takt_copier_done(&l.c, status, out);
}

/* Lowerings may use composites themselves; each round removes one level of them. */
takt_status takt_graph_lower(const takt_graph *in, takt_keep_fn *keep, void *user, takt_graph **out)
{
    enum { LEVELS = 16 };
    takt_graph *current = NULL;
    bool changed = true;
    for (int level = 0; level < LEVELS && changed; level++) {
        takt_graph *next;
        const takt_status status =
            once(current != NULL ? current : in, keep, user, &changed, &next);
        takt_graph_destroy(current);
        if (status != TAKT_OK) {
            *out = NULL;
            return status;
        }
        current = next;
    }
    *out = current;
    return TAKT_OK;
}
