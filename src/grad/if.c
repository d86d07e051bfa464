/* if.c - the gradient of `if`: the same choice between the gradients of the two subgraphs. */
#include "grad/reverse.h"
#include "op/ops.h"

typedef struct work {
    takt_graph *g;
    const takt_node *n;
    const takt_id *dy;
    takt_graph *branch[2];
    takt_id *in; /* of the new node: condition, captures, arriving gradients */
    size_t in_count;
} work;

static bool is_float(const takt_graph *g, takt_id id)
{
    return id != TAKT_NONE && takt_dtype_is_float(takt_type_of(g, id)->dtype);
}

/* (captures..., dy...) -> gradients of the captures that are floats. */
static takt_status build_branch(const work *w, const takt_graph *from, takt_graph *to)
{
    const size_t most = from->count + w->n->in_count + w->n->out_count;
    takt_id *map = takt_arena_array(&to->arena, from->count, sizeof *map);
    takt_id *ids = takt_arena_array(&to->arena, 4 * most, sizeof *ids);
    if (map == NULL || ids == NULL)
        return TAKT_ERR_MEMORY;
    takt_grad_request r = {
        .out = ids, .seed = ids + most, .in = ids + 2 * most, .result = ids + 3 * most};
    TAKT_TRY(takt_graph_begin_copy(from, to, map));
    TAKT_TRY(takt_grad_copy(from, to, map));
    for (uint32_t i = 0; i < w->n->out_count; i++)
        if (w->dy[i] != TAKT_NONE) {
            ids[r.out_count] = map[from->outputs[i].id];
            ids[most + r.out_count++] = takt_grad_input(to, "dy", &w->n->type[i]);
        }
    for (size_t i = 0; i < from->input_count; i++)
        if (is_float(from, from->inputs[i].id))
            ids[2 * most + r.in_count++] = map[from->inputs[i].id];
    TAKT_TRY(to->status);
    TAKT_TRY(takt_grad_append(to, &r));
    for (size_t i = 0; i < r.in_count; i++)
        takt_grad_output(to, r.result[i]);
    return to->status;
}

static takt_status build(work *w)
{
    for (int i = 0; i < 2; i++) {
        TAKT_TRY(takt_graph_create(w->g->ctx, w->g, &w->branch[i]));
        TAKT_TRY(build_branch(w, w->n->attr[i].graph, w->branch[i]));
    }
    w->in = takt_arena_array(&w->g->arena, w->n->in_count + w->n->out_count, sizeof *w->in);
    if (w->in == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t i = 0; i < w->n->in_count; i++)
        w->in[w->in_count++] = w->n->in[i];
    for (uint32_t i = 0; i < w->n->out_count; i++)
        if (w->dy[i] != TAKT_NONE)
            w->in[w->in_count++] = w->dy[i];
    return TAKT_OK;
}

takt_status takt_grad_if(takt_graph *g, const takt_node *n, const takt_id *dy, takt_id *dx)
{
    work w = {.g = g, .n = n, .dy = dy};
    takt_status status = build(&w);
    if (status == TAKT_OK) {
        const takt_named_attr attrs[] = {{"then", takt_attr_graph(w.branch[0])},
                                         {"else", takt_attr_graph(w.branch[1])}};
        const takt_id id = takt_graph_call(g, &takt_op_if, w.in_count, w.in, 2, attrs);
        size_t result = 0;
        for (uint32_t i = 1; i < n->in_count; i++)
            if (is_float(g, n->in[i]))
                dx[i] = takt_graph_get(g, id, result++);
        status = g->status;
    }
    takt_graph_destroy(w.branch[0]);
    takt_graph_destroy(w.branch[1]);
    return status;
}
