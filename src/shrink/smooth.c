/* smooth.c - outliers of activations moved into weights. */
#include "shrink/smooth.h"

#include <math.h>
#include <stdio.h>

#include "op/ops.h"
#include "pass/copier.h"
#include "shrink/rescale.h"

typedef struct work {
    takt_rescale scales;
    double **x_most; /* per value and channel: the largest activation */
} work;

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
    takt_status status = takt_copier_init(&c, w->scales.layers.graph);
    if (status == TAKT_OK)
        status = copy_all(&c);
    for (size_t i = 0; status == TAKT_OK && i < w->scales.count; i++)
        add_output(c.out, i, c.map[w->scales.values[i].id]);
    return takt_copier_done(&c, status == TAKT_OK ? c.out->status : status, out);
}

static takt_status make_room(work *w)
{
    takt_rescale *s = &w->scales;
    w->x_most = takt_arena_array(&s->arena, s->count + 1, sizeof *w->x_most);
    for (size_t i = 0; w->x_most != NULL && i < s->count; i++) {
        w->x_most[i] =
            takt_arena_array(&s->arena, (size_t)s->values[i].channels, sizeof **w->x_most);
        if (w->x_most[i] == NULL)
            return TAKT_ERR_MEMORY;
    }
    return w->x_most != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static takt_status look(takt_feed *f, work *w)
{
    takt_graph *g;
    takt_shrink_run r;
    TAKT_TRY(make_room(w));
    TAKT_TRY(watched(w, &g));
    takt_status status = takt_shrink_run_init(&r, f->model, g, f->sizes, f->threads);
    if (status != TAKT_OK)
        return status;
    for (uint64_t run = 0; status == TAKT_OK && run < f->runs; run++) {
        uint64_t count;
        status = takt_feed_put(f, &r, run, &count);
        if (status == TAKT_OK)
            status = takt_shrink_run_once(&r);
        for (size_t i = 0; status == TAKT_OK && i < w->scales.count; i++) {
            /* The model's own outputs are added at the end. */
            const takt_tensor_view *v = takt_session_output(r.session, i);
            status = v != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
            for (int64_t k = 0; v != NULL && k < w->scales.values[i].channels; k++)
                w->x_most[i][k] = fmax(w->x_most[i][k], (double)((const float *)v->data)[k]);
        }
    }
    takt_shrink_run_deinit(&r);
    return status;
}

/* ---- scales ---- */

/* The largest weight of every channel, over the layers that read the value. */
static takt_status largest_weights(const work *w, size_t value, double *most)
{
    const takt_rescale *s = &w->scales;
    for (int64_t k = 0; k < s->values[value].channels; k++)
        most[k] = 0;
    for (size_t i = 0; i < s->layers.count; i++) {
        const takt_shrink_layer *l = &s->layers.at[i];
        if (s->value_of[i] != value + 1)
            continue;
        takt_arena room;
        takt_arena_init(&room, s->layers.graph->ctx);
        double *v = takt_arena_array(&room, (size_t)(l->rows * l->inner), sizeof *v);
        if (v == NULL)
            return TAKT_ERR_MEMORY;
        takt_shrink_weights(s->layers.graph, l, v);
        for (int64_t k = 0; k < l->rows * l->inner; k++)
            most[k % l->inner] = fmax(most[k % l->inner], fabs(v[k]));
        takt_arena_deinit(&room);
    }
    return TAKT_OK;
}

static takt_status find_scales(work *w, double alpha)
{
    for (size_t i = 0; i < w->scales.count; i++) {
        double *by = w->scales.values[i].by;
        TAKT_TRY(largest_weights(w, i, by));
        for (int64_t k = 0; k < w->scales.values[i].channels; k++) {
            const double x = w->x_most[i][k], most = by[k];
            const double s = pow(x, alpha) / pow(most, 1 - alpha);
            by[k] = x > 0 && most > 0 && isfinite(s) ? fmax(s, 1e-5) : 1;
        }
    }
    return TAKT_OK;
}

takt_status takt_shrink_smooth(takt_feed *f, takt_graph **base, double alpha, size_t *norms)
{
    work w = {0};
    TAKT_TRY(takt_rescale_init(&w.scales, *base, false));
    *norms = w.scales.count;
    takt_status status = TAKT_OK;
    if (w.scales.count > 0) {
        status = look(f, &w);
        if (status == TAKT_OK)
            status = find_scales(&w, alpha);
        if (status == TAKT_OK)
            status = takt_rescale_apply(&w.scales, base);
    }
    takt_rescale_deinit(&w.scales);
    return status;
}
