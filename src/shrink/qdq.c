/* qdq.c - a graph with layers rounded to integers. */
#include "shrink/qdq.h"

#include "op/ops.h"
#include "pass/copier.h"

/* ---- which values ---- */

/* The result consists of elements of the input only, so both have the same grid. */
static bool keeps_grid(const takt_op *op)
{
    return op == &takt_op_max_pool || op == &takt_op_reshape || op == &takt_op_transpose ||
           op == &takt_op_slice;
}

/* Computed from integers and rounded to integers in one step over memory. */
static bool goes_between(const takt_op *op)
{
    return op == &takt_op_add || op == &takt_op_mul || op == &takt_op_concat ||
           op == &takt_op_avg_pool;
}

static bool is_cut(const takt_op *op)
{
    return op == &takt_op_relu || op == &takt_op_relu6 || op == &takt_op_clip;
}

/* Values computed from an integer layer, through pass-through ops. */
static void find_inside(const takt_shrink_layers *l, const bool *taken, unsigned char *inside)
{
    const takt_graph *g = l->graph;
    for (size_t i = 0; i < l->count; i++)
        if (taken[i])
            inside[l->at[i].end] = 1;
    for (size_t i = 0; i < g->count; i++) {
        const takt_op *op = g->nodes[i].op;
        if (!keeps_grid(op) && !goes_between(op) && !is_cut(op))
            continue;
        for (uint32_t k = 0; k < g->nodes[i].in_count; k++)
            if (g->nodes[i].in[k] != TAKT_NONE && inside[g->nodes[i].in[k]])
                inside[i] = 1;
    }
}

/* The operands of a wanted value become integers too, if all of their inputs are integers. */
static void reach(const takt_shrink_layers *l, const unsigned char *inside, takt_id id,
                  bool *wanted)
{
    const takt_graph *g = l->graph;
    const takt_node *n = &g->nodes[id];
    while (is_cut(n->op) && l->uses[n->in[0]] == 1 && !wanted[n->in[0]])
        n = &g->nodes[n->in[0]];
    if (!keeps_grid(n->op) && !goes_between(n->op))
        return;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE && inside[n->in[k]] &&
            takt_type_of(g, n->in[k])->dtype == TAKT_F32)
            wanted[n->in[k]] = true;
}

takt_status takt_qdq_wanted(const takt_shrink_layers *l, const bool *taken, bool is_whole,
                            bool *wanted)
{
    const takt_graph *g = l->graph;
    takt_arena arena;
    takt_arena_init(&arena, g->ctx);
    unsigned char *inside = takt_arena_array(&arena, g->count, 1);
    if (inside == NULL)
        return TAKT_ERR_MEMORY;
    find_inside(l, taken, inside);
    for (size_t i = 0; i < g->count; i++)
        wanted[i] = false;
    for (size_t i = 0; i < l->count; i++) {
        if (!taken[i])
            continue;
        wanted[l->at[i].x] = true;
        wanted[l->at[i].end] = wanted[l->at[i].end] || is_whole;
    }
    for (size_t i = g->count; i-- > 0;)
        if (wanted[i])
            reach(l, inside, (takt_id)i, wanted);
    takt_arena_deinit(&arena);
    return TAKT_OK;
}

/* ---- the graph ---- */

typedef struct work {
    const takt_qdq *q;
    takt_copier c;
    bool *wanted;
    takt_id *bytes;                /* per node of the base: its value as integers, or TAKT_NONE */
    const takt_quant_grid **grids; /* of those */
    size_t *product_of, *add_of;   /* layer + 1 of the product or bias that this node is */
} work;

static bool init(work *w)
{
    const takt_shrink_layers *l = w->q->layers;
    const size_t count = l->graph->count;
    takt_arena *arena = &w->c.arena;
    w->wanted = takt_arena_array(arena, count, sizeof *w->wanted);
    w->bytes = takt_arena_array(arena, count, sizeof *w->bytes);
    w->grids = takt_arena_array(arena, count, sizeof *w->grids);
    w->product_of = takt_arena_array(arena, count, sizeof *w->product_of);
    w->add_of = takt_arena_array(arena, count, sizeof *w->add_of);
    if (w->wanted == NULL || w->bytes == NULL || w->grids == NULL || w->product_of == NULL ||
        w->add_of == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        w->bytes[i] = TAKT_NONE;
    for (size_t i = 0; i < l->count; i++) {
        if (!w->q->taken[i])
            continue;
        w->product_of[l->at[i].product] = i + 1;
        if (l->at[i].add != TAKT_NONE)
            w->add_of[l->at[i].add] = i + 1;
    }
    return true;
}

/* From here on every reader sees the rounded value. */
static void round_value(work *w, takt_id id)
{
    const int bits = w->q->kind->x_bits;
    const takt_node *n = &w->c.in->nodes[id];
    if (keeps_grid(n->op) && w->bytes[n->in[0]] != TAKT_NONE) {
        const takt_id from = w->bytes[n->in[0]];
        w->grids[id] = w->grids[n->in[0]];
        w->bytes[id] = takt_graph_append(w->c.out, n->op, 1, &from, n->attr);
    } else {
        w->grids[id] = &w->q->grids[id];
        w->bytes[id] = takt_qdq_quantize(w->c.out, w->c.map[id], w->grids[id], bits);
    }
    w->c.map[id] = takt_qdq_dequantize(w->c.out, w->bytes[id], w->grids[id], bits);
}

static takt_id copy(work *w, takt_id id)
{
    const takt_node n = takt_copier_node(&w->c, id);
    const size_t product = w->product_of[id];
    if (w->add_of[id] > 0) /* already added by the layer */
        return w->c.map[w->q->layers->at[w->add_of[id] - 1].product];
    if (product == 0)
        return takt_graph_copy_node(w->c.out, &n, n.in);
    const takt_shrink_layer *l = &w->q->layers->at[product - 1];
    const float scale = w->grids[l->x] != NULL ? w->grids[l->x]->scale : 0;
    const takt_quant_form form = {w->c.in, l, w->q->kind, &w->q->weights[product - 1]};
    return takt_qdq_layer(w->c.out, &form, n.in[0], scale);
}

static takt_status build(work *w)
{
    const takt_graph *base = w->c.in;
    if (!init(w))
        return TAKT_ERR_MEMORY;
    if (w->q->kind->x_bits > 0)
        TAKT_TRY(takt_qdq_wanted(w->q->layers, w->q->taken, w->q->is_whole, w->wanted));
    TAKT_TRY(takt_graph_begin_copy(base, w->c.out, w->c.map));
    for (size_t i = 0; i < base->count; i++) {
        if (!w->c.live[i])
            continue;
        if (w->c.map[i] == TAKT_NONE)
            w->c.map[i] = copy(w, (takt_id)i);
        takt_graph_inherit(w->c.out, &base->nodes[i]);
        if (w->wanted[i])
            round_value(w, (takt_id)i);
        TAKT_TRY(w->c.out->status);
    }
    return TAKT_OK;
}

takt_status takt_qdq_build(const takt_qdq *q, takt_graph **out)
{
    work w = {.q = q};
    *out = NULL;
    takt_status status = takt_copier_init(&w.c, q->layers->graph);
    if (status == TAKT_OK)
        status = build(&w);
    return takt_copier_done(&w.c, status, out);
}
