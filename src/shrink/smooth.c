/* smooth.c - outliers of activations moved into weights. */
#include "shrink/smooth.h"

#include <math.h>
#include <stdio.h>

#include "op/ops.h"
#include "pass/copier.h"
#include "shrink/layers.h"

/* A norm and the products that read it. */
typedef struct group {
    takt_id norm;
    int64_t channels;
    double *x_most, *by; /* per channel: the largest activation, and its divisor */
} group;

typedef struct work {
    takt_shrink_layers layers;
    takt_arena arena;
    group *groups;
    size_t count;
    size_t *group_of; /* per layer: its group + 1 */
} work;

/* ---- groups ---- */

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

/* All that read the norm are products of these layers. */
static bool is_alone(const work *w, takt_id norm)
{
    uint32_t readers = 0;
    for (size_t i = 0; i < w->layers.count; i++)
        readers += w->layers.at[i].x == norm && !w->layers.at[i].is_conv;
    return readers == w->layers.uses[norm];
}

static takt_status find_groups(work *w)
{
    const takt_shrink_layers *l = &w->layers;
    w->groups = takt_arena_array(&w->arena, l->count + 1, sizeof *w->groups);
    w->group_of = takt_arena_array(&w->arena, l->count + 1, sizeof *w->group_of);
    if (w->groups == NULL || w->group_of == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < l->count; i++) {
        const takt_id x = l->at[i].x;
        if (l->at[i].is_conv || !is_norm(l->graph, x, l->at[i].inner) || !is_alone(w, x))
            continue;
        size_t k = 0;
        while (k < w->count && w->groups[k].norm != x)
            k++;
        w->group_of[i] = k + 1;
        if (k < w->count)
            continue;
        group *new = &w->groups[w->count++];
        const size_t channels = (size_t)l->at[i].inner;
        *new = (group){.norm = x,
                       .channels = l->at[i].inner,
                       .x_most = takt_arena_array(&w->arena, channels, sizeof(double)),
                       .by = takt_arena_array(&w->arena, channels, sizeof(double))};
        if (new->x_most == NULL || new->by == NULL)
            return TAKT_ERR_MEMORY;
    }
    return TAKT_OK;
}

/* ---- activations ---- */

static takt_status copy_all(takt_copier *c)
{
    TAKT_TRY(takt_graph_begin_copy(c->in, c->out, c->map));
    for (size_t i = 0; i < c->in->count && c->out->status == TAKT_OK; i++) {
        if (!c->live[i] || c->map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(c, (takt_id)i);
        c->map[i] = takt_graph_copy_node(c->out, &n, n.in);
    }
    return c->out->status;
}

static void add_output(takt_graph *g, size_t index, takt_id x)
{
    int64_t axes[TAKT_MAX_RANK];
    const int rank = takt_type_of(g, x)->rank;
    char name[48];
    for (int d = 0; d + 1 < rank; d++)
        axes[d] = d;
    const takt_id size = takt_unary(g, &takt_op_abs, x);
    snprintf(name, sizeof name, "shrink.smooth%zu", index);
    takt_graph_output(
        g, name,
        rank > 1 ? takt_reduce_over(g, &takt_op_reduce_max, size, axes, (size_t)rank - 1, false)
                 : size);
}

static takt_status watched(const work *w, takt_graph **out)
{
    takt_copier c;
    takt_status status = takt_copier_init(&c, w->layers.graph);
    if (status == TAKT_OK)
        status = copy_all(&c);
    for (size_t i = 0; status == TAKT_OK && i < w->count; i++)
        add_output(c.out, i, c.map[w->groups[i].norm]);
    return takt_copier_done(&c, status == TAKT_OK ? c.out->status : status, out);
}

static takt_status look(takt_feed *f, work *w)
{
    takt_graph *g;
    takt_shrink_run r;
    takt_status status = TAKT_OK;
    TAKT_TRY(watched(w, &g));
    TAKT_TRY(takt_shrink_run_init(&r, f->model, g, f->sizes, f->threads));
    for (uint64_t run = 0; status == TAKT_OK && run < f->runs; run++) {
        uint64_t count;
        status = takt_feed_put(f, &r, run, &count);
        if (status == TAKT_OK)
            status = takt_shrink_run_once(&r);
        for (size_t i = 0; status == TAKT_OK && i < w->count; i++) {
            /* The model's own outputs are added at the end. */
            const takt_tensor_view *v = takt_session_output(r.session, i);
            status = v != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
            for (int64_t k = 0; v != NULL && k < w->groups[i].channels; k++)
                w->groups[i].x_most[k] =
                    fmax(w->groups[i].x_most[k], (double)((const float *)v->data)[k]);
        }
    }
    takt_shrink_run_deinit(&r);
    return status;
}

/* ---- scales ---- */

static takt_status find_scales(work *w, double alpha)
{
    for (size_t i = 0; i < w->layers.count; i++) {
        const takt_shrink_layer *l = &w->layers.at[i];
        if (w->group_of[i] == 0)
            continue;
        takt_arena room;
        takt_arena_init(&room, w->layers.graph->ctx);
        double *v = takt_arena_array(&room, (size_t)(l->rows * l->inner), sizeof *v);
        if (v == NULL)
            return TAKT_ERR_MEMORY;
        takt_shrink_weights(w->layers.graph, l, v);
        double *most = w->groups[w->group_of[i] - 1].by; /* of the weights, for now */
        for (int64_t k = 0; k < l->rows * l->inner; k++)
            most[k % l->inner] = fmax(most[k % l->inner], fabs(v[k]));
        takt_arena_deinit(&room);
    }
    for (size_t i = 0; i < w->count; i++)
        for (int64_t k = 0; k < w->groups[i].channels; k++) {
            const double x = w->groups[i].x_most[k], most = w->groups[i].by[k];
            const double s = pow(x, alpha) / pow(most, 1 - alpha);
            w->groups[i].by[k] = x > 0 && most > 0 && isfinite(s) ? fmax(s, 1e-5) : 1;
        }
    return TAKT_OK;
}

/* ---- the graph ---- */

static takt_id divided(takt_copier *c, takt_id from, const group *k, double *room)
{
    const takt_node *n = &c->in->nodes[from];
    for (int64_t i = 0; i < k->channels; i++)
        room[i] =
            takt_dtype_get_f(TAKT_F32, takt_tensor_data(n->attr[0].tensor), (size_t)i) / k->by[i];
    return takt_shrink_constant(c->out, n->type, room);
}

/* Equal constants are one node, so each user gets its own. */
static takt_status put_node(const work *w, takt_copier *c, takt_id id, double *room)
{
    takt_node n = takt_copier_node(c, id);
    const takt_graph *g = c->in;
    takt_id in[3];
    for (size_t i = 0; i < w->count; i++) {
        if (w->groups[i].norm != id)
            continue;
        for (uint32_t k = 0; k < n.in_count; k++)
            in[k] = k == 0 || n.in[k] == TAKT_NONE
                        ? n.in[k]
                        : divided(c, g->nodes[id].in[k], &w->groups[i], room);
        n.in = in;
    }
    for (size_t i = 0; i < w->layers.count; i++) {
        const takt_shrink_layer *l = &w->layers.at[i];
        if (l->product != id || w->group_of[i] == 0)
            continue;
        const double *by = w->groups[w->group_of[i] - 1].by;
        double *v = room + l->rows * l->inner;
        takt_shrink_weights(g, l, v);
        for (int64_t r = 0; r < l->rows; r++)
            for (int64_t k = 0; k < l->inner; k++)
                room[takt_shrink_weight_index(g, l, r, k)] = v[r * l->inner + k] * by[k];
        in[0] = n.in[0];
        in[1] = takt_shrink_constant(c->out, takt_type_of(g, l->w), room);
        n.in = in;
    }
    takt_graph_inherit(c->out, &g->nodes[id]);
    c->map[id] = takt_graph_copy_node(c->out, &n, n.in);
    return c->out->status;
}

static takt_status rebuild(work *w, takt_graph **out)
{
    takt_copier c;
    int64_t most = 1;
    for (size_t i = 0; i < w->layers.count; i++)
        if (w->layers.at[i].rows * w->layers.at[i].inner > most)
            most = w->layers.at[i].rows * w->layers.at[i].inner;
    double *room = takt_arena_array(&w->arena, 2 * (size_t)most, sizeof *room);
    takt_status status = takt_copier_init(&c, w->layers.graph);
    if (status == TAKT_OK)
        status = room != NULL ? takt_graph_begin_copy(c.in, c.out, c.map) : TAKT_ERR_MEMORY;
    for (size_t i = 0; status == TAKT_OK && i < c.in->count; i++)
        if (c.live[i] && c.map[i] == TAKT_NONE)
            status = put_node(w, &c, (takt_id)i, room);
    return takt_copier_done(&c, status, out);
}

takt_status takt_shrink_smooth(takt_feed *f, takt_graph **base, double alpha, size_t *norms)
{
    work w = {0};
    takt_graph *next = NULL;
    TAKT_TRY(takt_shrink_layers_init(&w.layers, *base));
    takt_arena_init(&w.arena, (*base)->ctx);
    takt_status status = find_groups(&w);
    if (status == TAKT_OK && w.count > 0)
        status = look(f, &w);
    if (status == TAKT_OK && w.count > 0)
        status = find_scales(&w, alpha);
    if (status == TAKT_OK && w.count > 0)
        status = rebuild(&w, &next);
    *norms = w.count;
    takt_shrink_layers_deinit(&w.layers);
    takt_arena_deinit(&w.arena);
    if (status == TAKT_OK && next != NULL) {
        takt_graph_destroy(*base);
        *base = next;
    }
    return status;
}
