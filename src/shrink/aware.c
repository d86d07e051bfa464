/* aware.c - the two graphs of a model that is trained as integers. */
#include "shrink/aware.h"

#include "op/ops.h"
#include "op/util/formula.h"
#include "pass/copier.h"

/* Weight of a batch in the ranges: each covers about the last hundred. */
static const double momentum = 0.01;

/* The grid of a value in the graph that is built. */
typedef struct grid {
    takt_id scale, zero;
    takt_id bytes; /* the value as integers; inference alone */
} grid;

typedef struct work {
    const takt_aware *a;
    bool is_training;
    takt_copier c;
    grid *grids;                 /* per node of the base; scale TAKT_NONE: it is a float */
    size_t *product_of, *add_of; /* layer + 1 of the product or bias that this node is */
} work;

static bool init(work *w)
{
    const takt_shrink_layers *l = w->a->layers;
    const size_t count = l->graph->count;
    takt_arena *arena = &w->c.arena;
    w->grids = takt_arena_array(arena, count, sizeof *w->grids);
    w->product_of = takt_arena_array(arena, count, sizeof *w->product_of);
    w->add_of = takt_arena_array(arena, count, sizeof *w->add_of);
    if (w->grids == NULL || w->product_of == NULL || w->add_of == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        w->grids[i] = (grid){TAKT_NONE, TAKT_NONE, TAKT_NONE};
    for (size_t i = 0; i < l->count; i++) {
        w->product_of[l->at[i].product] = i + 1;
        if (l->at[i].add != TAKT_NONE)
            w->add_of[l->at[i].add] = i + 1;
    }
    return true;
}

/* ---- ranges ---- */

/* A number that training moves. */
typedef struct moving {
    const char *name;
    takt_id value;
} moving;

static moving slot_of(work *w, takt_id id, const char *what, takt_dtype dtype, double first)
{
    takt_graph *g = w->c.out;
    const takt_type scalar = {.dtype = dtype};
    const takt_init init = {.kind = TAKT_INIT_CONSTANT, .a = first};
    moving m = {takt_arena_format(&g->arena, TAKT_AWARE_SLOT "value%u.%s", (unsigned)id, what),
                TAKT_NONE};
    m.value = m.name != NULL ? takt_graph_slot(g, m.name, &scalar, &init, false)
                             : takt_graph_fail(g, TAKT_ERR_MEMORY);
    return m;
}

static void set_next(work *w, const moving *m, takt_id next)
{
    if (m->name != NULL)
        takt_graph_set_next(w->c.out, m->name, next);
}

/* An end of the range moves towards that of the batch; zero is always inside. */
static takt_id end_of(work *w, takt_id id, bool is_high, double first)
{
    takt_graph *g = w->c.out;
    const moving end = slot_of(w, id, is_high ? "high" : "low", TAKT_F32, first);
    const takt_op *reduce = is_high ? &takt_op_reduce_max : &takt_op_reduce_min;
    const takt_op *choose = is_high ? &takt_op_max : &takt_op_min;
    const takt_id most = takt_reduce_over(g, reduce, w->c.map[id], NULL, 0, false);
    const takt_id seen = takt_binary(g, choose, most, takt_scalar_like(g, most, 0));
    const takt_id step = takt_mul_scalar(g, takt_sub(g, seen, end.value), momentum);
    const takt_id next = takt_add(g, end.value, step);
    set_next(w, &end, next);
    return next;
}

/* The grid of the range after this step. */
static void move_grid(work *w, takt_id id, const moving *scale, const moving *zero)
{
    takt_graph *g = w->c.out;
    const takt_quant_grid *first = &w->a->grids[id];
    const double unit = (double)first->scale;
    const takt_id low = end_of(w, id, false, (first->least - first->zero) * unit);
    const takt_id high = end_of(w, id, true, (first->greatest - first->zero) * unit);
    const takt_id least = takt_scalar_like(g, low, 1e-20);
    if (w->a->kind->is_symmetric) {
        const takt_id size = takt_binary(g, &takt_op_max, takt_neg(g, low), high);
        const takt_id some = takt_binary(g, &takt_op_max, size, least);
        set_next(w, scale, takt_mul_scalar(g, some, 1.0 / first->greatest));
        return;
    }
    const takt_id span = takt_binary(g, &takt_op_max, takt_sub(g, high, low), least);
    const takt_id unit_next = takt_mul_scalar(g, span, 1.0 / (first->greatest - first->least));
    const takt_id at =
        takt_sub(g, takt_scalar_like(g, low, first->least), takt_div(g, low, unit_next));
    const takt_id whole =
        takt_clamp(g, takt_unary(g, &takt_op_round, at), first->least, first->greatest);
    set_next(w, scale, unit_next);
    set_next(w, zero, takt_cast(g, whole, TAKT_I8));
}

/* Scale and zero point have their own slots: training and the integer model use the same
 * numbers. */
static grid grid_of(work *w, takt_id id)
{
    takt_graph *g = w->c.out;
    const takt_quant_grid *first = &w->a->grids[id];
    const moving scale = slot_of(w, id, "scale", TAKT_F32, (double)first->scale);
    moving zero = {NULL, TAKT_NONE};
    if (w->a->kind->is_symmetric)
        zero.value = takt_cast(g, takt_scalar_i64(g, 0), TAKT_I16);
    else
        zero = slot_of(w, id, "zero", TAKT_I8, first->zero);
    if (w->is_training)
        move_grid(w, id, &scale, &zero);
    return (grid){scale.value, zero.value, TAKT_NONE};
}

/* ---- values ---- */

static bool keeps_grid(const takt_op *op)
{
    return op == &takt_op_max_pool || op == &takt_op_reshape || op == &takt_op_transpose ||
           op == &takt_op_slice;
}

static takt_id opened(work *w, const grid *v)
{
    const takt_id in[] = {v->bytes, v->scale, v->zero};
    return takt_graph_call(w->c.out, &takt_op_dequantize, 3, in, 0, NULL);
}

/* From here on everybody sees the rounded value. */
static void round_value(work *w, takt_id id)
{
    takt_graph *g = w->c.out;
    const takt_node *n = &w->c.in->nodes[id];
    grid *v = &w->grids[id];
    if (keeps_grid(n->op) && w->grids[n->in[0]].scale != TAKT_NONE) {
        *v = w->grids[n->in[0]]; /* it has the same elements */
        if (!w->is_training) {
            v->bytes = takt_graph_append(g, n->op, 1, &v->bytes, n->attr);
            w->c.map[id] = opened(w, v);
        }
        return;
    }
    *v = grid_of(w, id);
    const int bits = w->a->kind->x_bits;
    const int64_t most = (1 << (bits - 1)) - 1;
    if (w->is_training) {
        const bool is_even = w->a->kind->is_symmetric;
        const takt_id in[] = {w->c.map[id], v->scale, takt_cast(g, v->zero, TAKT_F32)};
        const takt_named_attr attrs[] = {{"low", takt_attr_i64(is_even ? -most : -most - 1)},
                                         {"high", takt_attr_i64(most)}};
        w->c.map[id] = takt_graph_call(g, &takt_op_fake_quantize, 3, in, 2, attrs);
        return;
    }
    const takt_dtype dtype = bits == 16 ? TAKT_I16 : TAKT_I8;
    const takt_named_attr attr = {"dtype", takt_attr_dtype(dtype)};
    const takt_id in[] = {w->c.map[id], v->scale, v->zero};
    v->bytes = takt_graph_call(g, &takt_op_quantize, 3, in, 1, &attr);
    w->c.map[id] = opened(w, v);
}

static takt_id copy(work *w, takt_id id)
{
    const takt_node n = takt_copier_node(&w->c, id);
    const size_t product = w->product_of[id];
    if (w->add_of[id] > 0) /* already added by the layer */
        return w->c.map[w->a->layers->at[w->add_of[id] - 1].product];
    if (product == 0)
        return takt_graph_copy_node(w->c.out, &n, n.in);
    const takt_id x = w->a->layers->at[product - 1].x;
    const takt_aware_site site = {.aware = w->a,
                                  .g = w->c.out,
                                  .is_training = w->is_training,
                                  .index = product - 1,
                                  .x = n.in[0],
                                  .x_scale =
                                      w->a->taken[product - 1] ? w->grids[x].scale : TAKT_NONE};
    return takt_aware_layer(&site);
}

static takt_status build(work *w)
{
    const takt_graph *base = w->c.in;
    if (!init(w))
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_graph_begin_copy(base, w->c.out, w->c.map));
    for (size_t i = 0; i < base->count; i++) {
        if (!w->c.live[i])
            continue;
        if (w->c.map[i] == TAKT_NONE)
            w->c.map[i] = copy(w, (takt_id)i);
        takt_graph_inherit(w->c.out, &base->nodes[i]);
        if (w->a->wanted[i])
            round_value(w, (takt_id)i);
        TAKT_TRY(w->c.out->status);
    }
    return TAKT_OK;
}

takt_status takt_aware_build(const takt_aware *a, bool is_training, takt_graph **out)
{
    work w = {.a = a, .is_training = is_training};
    *out = NULL;
    takt_status status = takt_copier_init(&w.c, a->layers->graph);
    if (status == TAKT_OK)
        status = build(&w);
    return takt_copier_done(&w.c, status, out);
}
