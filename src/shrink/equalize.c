/* equalize.c - neighbouring layers scaled against each other. */
#include "shrink/equalize.h"

#include <math.h>

#include "op/ops.h"
#include "op/util/conv.h"
#include "pass/copier.h"
#include "shrink/base.h"
#include "shrink/layers.h"

enum { ROUNDS = 3 };

typedef struct work {
    takt_shrink_layers layers;
    takt_arena arena;
    double **weights, **bias; /* per layer that is part of a pair */
    size_t pairs;
} work;

/* ---- pairs ---- */

static bool is_own(const work *w, const takt_shrink_layer *l)
{
    return w->layers.uses[l->w] == 1 && (l->bias == TAKT_NONE || w->layers.uses[l->bias] == 1);
}

/* The next layer takes exactly this one's channels, each in one column or, depthwise, one row. */
static bool is_pair(const work *w, const takt_shrink_layer *a, const takt_shrink_layer *b)
{
    const takt_graph *g = w->layers.graph;
    const takt_type *x = takt_type_of(g, b->x);
    if (b->x != a->end || w->layers.uses[a->end] != 1 || !is_own(w, a) || !is_own(w, b) ||
        (a->act != TAKT_NONE && g->nodes[a->act].op != &takt_op_relu))
        return false;
    const bool nhwc = b->is_conv && g->nodes[b->product].attr[TAKT_CONV_LAYOUT].i64 == TAKT_NHWC;
    const int axis = b->is_conv && !nhwc ? 1 : x->rank - 1;
    return axis == a->y_axis && x->dim[axis] == a->rows &&
           (b->groups == 1 || (b->groups == a->rows && b->rows == a->rows));
}

static takt_status take_values(work *w, size_t i)
{
    const takt_shrink_layer *l = &w->layers.at[i];
    if (w->weights[i] != NULL)
        return TAKT_OK;
    w->weights[i] = takt_arena_array(&w->arena, (size_t)(l->rows * l->inner), sizeof(double));
    w->bias[i] = takt_arena_array(&w->arena, (size_t)l->rows, sizeof(double));
    if (w->weights[i] == NULL || w->bias[i] == NULL)
        return TAKT_ERR_MEMORY;
    takt_shrink_weights(w->layers.graph, l, w->weights[i]);
    takt_shrink_bias(w->layers.graph, l, w->bias[i]);
    return TAKT_OK;
}

/* ---- scaling ---- */

/* The largest weight of channel `c`: a row of the first layer, columns of the second. */
static double row_size(const work *w, size_t i, int64_t c)
{
    const takt_shrink_layer *l = &w->layers.at[i];
    double most = 0;
    for (int64_t k = 0; k < l->inner; k++)
        most = fmax(most, fabs(w->weights[i][c * l->inner + k]));
    return most;
}

/* Scales the weights that read channel `c` by `by`, and returns the largest of them before. */
static double scale_readers(work *w, size_t i, int64_t c, double by)
{
    const takt_shrink_layer *l = &w->layers.at[i];
    double most = 0;
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t k = 0; k < l->inner; k++) {
            const bool reads =
                l->groups > 1 ? r == c : takt_shrink_channel_of(w->layers.graph, l, k) == c;
            double *v = &w->weights[i][r * l->inner + k];
            if (!reads)
                continue;
            most = fmax(most, fabs(*v));
            *v *= by;
        }
    return most;
}

static void equalize(work *w, size_t i, size_t j)
{
    const takt_shrink_layer *a = &w->layers.at[i];
    for (int64_t c = 0; c < a->rows; c++) {
        const double first = row_size(w, i, c), second = scale_readers(w, j, c, 1);
        if (!(first > 0) || !(second > 0))
            continue;
        const double by = sqrt(first / second);
        for (int64_t k = 0; k < a->inner; k++)
            w->weights[i][c * a->inner + k] /= by;
        w->bias[i][c] /= by;
        (void)scale_readers(w, j, c, by);
    }
}

static takt_status work_pairs(work *w)
{
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < w->layers.count; i++)
            for (size_t j = i + 1; j < w->layers.count; j++) {
                if (!is_pair(w, &w->layers.at[i], &w->layers.at[j]))
                    continue;
                TAKT_TRY(take_values(w, i));
                TAKT_TRY(take_values(w, j));
                equalize(w, i, j);
                w->pairs += round == 0;
            }
    return TAKT_OK;
}

/* ---- the graph ---- */

/* The weights in their original layout, and the bias: so far one per channel. */
static takt_status put(work *w, takt_copier *c, size_t i, double *room)
{
    const takt_graph *g = w->layers.graph;
    const takt_shrink_layer *l = &w->layers.at[i];
    for (int64_t r = 0; r < l->rows; r++)
        for (int64_t k = 0; k < l->inner; k++)
            room[takt_shrink_weight_index(g, l, r, k)] = w->weights[i][r * l->inner + k];
    takt_graph_inherit(c->out, &g->nodes[l->w]);
    c->map[l->w] = takt_shrink_constant(c->out, takt_type_of(g, l->w), room);
    if (l->bias == TAKT_NONE)
        return c->out->status;
    const int after = takt_type_of(g, l->product)->rank - 1 - l->y_axis;
    takt_type type = {TAKT_F32, after + 1, {l->rows}};
    for (int d = 1; d <= after; d++)
        type.dim[d] = 1;
    c->map[l->bias] = takt_shrink_constant(c->out, &type, w->bias[i]);
    return c->out->status;
}

static takt_status rebuild(work *w, takt_graph **out)
{
    takt_copier c;
    const takt_graph *g = w->layers.graph;
    int64_t most = 1;
    for (size_t i = 0; i < w->layers.count; i++)
        if (w->layers.at[i].rows * w->layers.at[i].inner > most)
            most = w->layers.at[i].rows * w->layers.at[i].inner;
    double *room = takt_arena_array(&w->arena, (size_t)most, sizeof *room);
    takt_status status = takt_copier_init(&c, g);
    if (status == TAKT_OK)
        status = room != NULL ? takt_graph_begin_copy(g, c.out, c.map) : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < w->layers.count; i++)
        if (w->weights[i] != NULL)
            status = put(w, &c, i, room);
    for (size_t i = 0; status == TAKT_OK && i < g->count; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&c, (takt_id)i);
        c.map[i] = takt_graph_copy_node(c.out, &n, n.in);
        status = c.out->status;
    }
    return takt_copier_done(&c, status, out);
}

takt_status takt_shrink_equalize(takt_graph **base, size_t *pairs)
{
    work w = {0};
    takt_graph *next = NULL;
    *pairs = 0;
    TAKT_TRY(takt_shrink_layers_init(&w.layers, *base));
    takt_arena_init(&w.arena, (*base)->ctx);
    w.weights = takt_arena_array(&w.arena, w.layers.count + 1, sizeof *w.weights);
    w.bias = takt_arena_array(&w.arena, w.layers.count + 1, sizeof *w.bias);
    takt_status status = w.weights != NULL && w.bias != NULL ? work_pairs(&w) : TAKT_ERR_MEMORY;
    if (status == TAKT_OK && w.pairs > 0)
        status = rebuild(&w, &next);
    *pairs = w.pairs;
    takt_shrink_layers_deinit(&w.layers);
    takt_arena_deinit(&w.arena);
    if (status == TAKT_OK && next != NULL) {
        takt_graph_destroy(*base);
        *base = next;
    }
    return status;
}
