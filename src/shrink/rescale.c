/* rescale.c - channels of a value divided where they are made and multiplied where they are read.
 */
#include "shrink/rescale.h"

#include "op/ops.h"
#include "op/util/conv.h"
#include "pass/copier.h"
#include "shrink/base.h"

/* ---- values ---- */

/* A constant with one number for each channel. */
static bool is_vector(const takt_graph *g, takt_id id, int64_t channels)
{
    const takt_node *n = &g->nodes[id];
    return n->op == &takt_op_constant && n->type->rank == 1 && n->type->dim[0] == channels &&
           n->type->dtype == TAKT_F32;
}

static bool is_norm(const takt_graph *g, takt_id id, int64_t channels)
{
    const takt_node *n = &g->nodes[id];
    if (n->op != &takt_op_layer_norm && n->op != &takt_op_rms_norm)
        return false;
    for (uint32_t k = 1; k < n->in_count; k++)
        if (n->in[k] == TAKT_NONE ? k == 1 : !is_vector(g, n->in[k], channels))
            return false;
    return n->in_count > 1;
}

/* The layer that produces the value, + 1, if its channels may be divided; 0: none. */
static size_t giver(const takt_shrink_layers *l, takt_id id)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].end == id)
            return l->at[i].act == TAKT_NONE || l->graph->nodes[l->at[i].act].op == &takt_op_relu
                       ? i + 1
                       : 0;
    return 0;
}

/* The axis of a layer's input that counts its channels. */
static int input_axis(const takt_graph *g, const takt_shrink_layer *l)
{
    const bool first = l->is_conv && g->nodes[l->product].attr[TAKT_CONV_LAYOUT].i64 != TAKT_NHWC;
    return first ? 1 : takt_type_of(g, l->x)->rank - 1;
}

static bool may_read(const takt_rescale *r, const takt_shrink_layer *l, size_t from)
{
    const takt_graph *g = r->layers.graph;
    if (from == 0)
        return !l->is_conv && is_norm(g, l->x, l->inner);
    const takt_shrink_layer *a = &r->layers.at[from - 1];
    const int axis = input_axis(g, l);
    return l->groups == 1 && axis == a->y_axis && takt_type_of(g, l->x)->dim[axis] == a->rows;
}

/* Whether all readers of the value are layers that can be scaled. */
static bool has_only_layers(const takt_rescale *r, takt_id id, size_t from)
{
    uint32_t readers = 0;
    for (size_t i = 0; i < r->layers.count; i++)
        readers += r->layers.at[i].x == id && may_read(r, &r->layers.at[i], from);
    return readers == r->layers.uses[id];
}

static takt_status add_value(takt_rescale *r, takt_id id, size_t from, int64_t channels)
{
    double *by = takt_arena_array(&r->arena, (size_t)channels, sizeof *by);
    if (by == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t k = 0; k < channels; k++)
        by[k] = 1;
    r->values[r->count++] = (takt_rescale_value){id, from, channels, by};
    return TAKT_OK;
}

static takt_status find_values(takt_rescale *r, bool of_layers)
{
    const takt_shrink_layers *l = &r->layers;
    r->values = takt_arena_array(&r->arena, l->count + 1, sizeof *r->values);
    r->value_of = takt_arena_array(&r->arena, l->count + 1, sizeof *r->value_of);
    if (r->values == NULL || r->value_of == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < l->count; i++) {
        const takt_id x = l->at[i].x;
        const size_t from = of_layers ? giver(l, x) : 0;
        if (!may_read(r, &l->at[i], from) || !has_only_layers(r, x, from))
            continue;
        size_t k = 0;
        while (k < r->count && r->values[k].id != x)
            k++;
        r->value_of[i] = k + 1;
        if (k == r->count)
            TAKT_TRY(add_value(r, x, from, from > 0 ? l->at[from - 1].rows : l->at[i].inner));
    }
    return TAKT_OK;
}

takt_status takt_rescale_init(takt_rescale *r, const takt_graph *base, bool of_layers)
{
    *r = (takt_rescale){0};
    TAKT_TRY(takt_shrink_layers_init(&r->layers, base));
    takt_arena_init(&r->arena, base->ctx);
    const takt_status status = find_values(r, of_layers);
    if (status != TAKT_OK)
        takt_rescale_deinit(r);
    return status;
}

void takt_rescale_deinit(takt_rescale *r)
{
    if (r->layers.graph == NULL)
        return;
    takt_shrink_layers_deinit(&r->layers);
    takt_arena_deinit(&r->arena);
    *r = (takt_rescale){0};
}

/* ---- the graph ---- */

typedef struct work {
    const takt_rescale *r;
    takt_copier c;
    double *room; /* for the weights of the largest layer, twice */
} work;

static const takt_rescale_value *given_by(const takt_rescale *r, size_t layer)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->values[i].layer == layer + 1)
            return &r->values[i];
    return NULL;
}

static takt_id divided_norm(work *w, takt_id from, const takt_rescale_value *v)
{
    const takt_node *n = &w->c.in->nodes[from];
    for (int64_t i = 0; i < v->channels; i++)
        w->room[i] =
            takt_dtype_get_f(TAKT_F32, takt_tensor_data(n->attr[0].tensor), (size_t)i) / v->by[i];
    return takt_shrink_constant(w->c.out, n->type, w->room);
}

/* One number for each channel, even if the file has one for all. */
static takt_id divided_bias(work *w, const takt_shrink_layer *l, const takt_rescale_value *v)
{
    const int after = takt_type_of(w->c.in, l->product)->rank - 1 - l->y_axis;
    takt_type type = {TAKT_F32, after + 1, {l->rows}};
    for (int d = 1; d <= after; d++)
        type.dim[d] = 1;
    takt_shrink_bias(w->c.in, l, w->room);
    for (int64_t k = 0; k < l->rows; k++)
        w->room[k] /= v->by[k];
    return takt_shrink_constant(w->c.out, &type, w->room);
}

/* Columns that read scaled channels, and rows that produce them. */
static takt_id scaled_weights(work *w, size_t i, const takt_rescale_value *gives)
{
    const takt_graph *g = w->c.in;
    const takt_shrink_layer *l = &w->r->layers.at[i];
    const double *by = w->r->value_of[i] > 0 ? w->r->values[w->r->value_of[i] - 1].by : NULL;
    double *v = w->room + l->rows * l->inner;
    takt_shrink_weights(g, l, v);
    for (int64_t row = 0; row < l->rows; row++)
        for (int64_t k = 0; k < l->inner; k++)
            w->room[takt_shrink_weight_index(g, l, row, k)] =
                v[row * l->inner + k] * (by != NULL ? by[takt_shrink_channel_of(g, l, k)] : 1) /
                (gives != NULL ? gives->by[row] : 1);
    return takt_shrink_constant(w->c.out, takt_type_of(g, l->w), w->room);
}

/* Equal constants are one node, so each user gets its own. */
static takt_status put_node(work *w, takt_id id)
{
    takt_node n = takt_copier_node(&w->c, id);
    const takt_graph *g = w->c.in;
    takt_id in[3];
    for (size_t i = 0; i < w->r->count; i++) {
        if (w->r->values[i].id != id || w->r->values[i].layer > 0)
            continue;
        for (uint32_t k = 0; k < n.in_count; k++)
            in[k] = k == 0 || n.in[k] == TAKT_NONE
                        ? n.in[k]
                        : divided_norm(w, g->nodes[id].in[k], &w->r->values[i]);
        n.in = in;
    }
    for (size_t i = 0; i < w->r->layers.count; i++) {
        const takt_shrink_layer *l = &w->r->layers.at[i];
        const takt_rescale_value *gives = given_by(w->r, i);
        if (l->product == id && (w->r->value_of[i] > 0 || gives != NULL)) {
            in[0] = n.in[0];
            in[1] = scaled_weights(w, i, gives);
            n.in = in;
        } else if (l->add == id && gives != NULL) {
            const uint32_t which = g->nodes[id].in[0] == l->bias ? 0 : 1;
            in[1 - which] = n.in[1 - which];
            in[which] = divided_bias(w, l, gives);
            n.in = in;
        }
    }
    takt_graph_inherit(w->c.out, &g->nodes[id]);
    w->c.map[id] = takt_graph_copy_node(w->c.out, &n, n.in);
    return w->c.out->status;
}

takt_status takt_rescale_apply(takt_rescale *r, takt_graph **base)
{
    work w = {.r = r};
    int64_t most = 1;
    takt_graph *next = NULL;
    for (size_t i = 0; i < r->layers.count; i++)
        if (r->layers.at[i].rows * r->layers.at[i].inner > most)
            most = r->layers.at[i].rows * r->layers.at[i].inner;
    w.room = takt_arena_array(&r->arena, 2 * (size_t)most, sizeof *w.room);
    takt_status status = takt_copier_init(&w.c, *base);
    if (status == TAKT_OK)
        status = w.room != NULL ? takt_graph_begin_copy(w.c.in, w.c.out, w.c.map) : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < w.c.in->count; i++)
        if (w.c.live[i] && w.c.map[i] == TAKT_NONE)
            status = put_node(&w, (takt_id)i);
    status = takt_copier_done(&w.c, status, &next);
    if (status != TAKT_OK)
        return status;
    takt_graph_destroy(*base);
    *base = next;
    return TAKT_OK;
}
