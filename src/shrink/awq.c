/* awq.c - scales up weights that multiply large inputs before they are rounded. */
#include "shrink/awq.h"

#include <math.h>

#include "shrink/rescale.h"

enum {
    STEPS = 20, /* of alpha, from 0 to 1 */
    ROWS = 128, /* rows of a layer that are tried: each costs inner * inner operations */
};

typedef struct work {
    takt_rescale scales;
    const takt_awq_request *request;
    bool *wanted;     /* per layer: whether it is rounded and reads a value */
    double **moments; /* per layer that is wanted: sums of x' x */
} work;

/* ---- the error of a layer ---- */

/* Element k of a row, rounded after it was scaled and then scaled back, less what it was. */
static void round_scaled(const work *w, const takt_shrink_layer *l, const double *by, double *x,
                         double *error)
{
    const takt_quant_kind *kind = w->request->kind;
    const int most = (1 << (kind->weight_bits - 1)) - 1;
    for (int64_t first = 0; first < l->inner; first += kind->block) {
        const int64_t count = l->inner - first < kind->block ? l->inner - first : kind->block;
        for (int64_t k = first; k < first + count; k++)
            x[k] *= by[takt_shrink_channel_of(w->scales.layers.graph, l, k)];
        const double scale = (double)takt_quant_scale(x + first, count, kind->weight_bits);
        for (int64_t k = first; k < first + count; k++) {
            const double q = nearbyint(x[k] / scale);
            const double level = q > most ? most : q < -most ? -most : q;
            error[k] =
                (level * scale - x[k]) / by[takt_shrink_channel_of(w->scales.layers.graph, l, k)];
        }
    }
}

/* e' H e: how much the error of a row changes the products with the data, squared. */
static double weighed(const double *error, const double *moments, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double row = 0;
        for (int64_t k = 0; k < n; k++)
            row += moments[i * n + k] * error[k];
        sum += row * error[i];
    }
    return sum;
}

static takt_status layer_error(const work *w, size_t index, const double *by, double *sum)
{
    const takt_shrink_layer *l = &w->scales.layers.at[index];
    const int64_t step = (l->rows + ROWS - 1) / ROWS;
    takt_arena room;
    takt_arena_init(&room, w->scales.layers.graph->ctx);
    double *x = takt_arena_array(&room, (size_t)(l->rows * l->inner), sizeof *x);
    double *error = takt_arena_array(&room, (size_t)l->inner, sizeof *error);
    if (x == NULL || error == NULL) {
        takt_arena_deinit(&room);
        return TAKT_ERR_MEMORY;
    }
    takt_shrink_weights(w->scales.layers.graph, l, x);
    for (int64_t row = 0; row < l->rows; row += step) {
        round_scaled(w, l, by, x + row * l->inner, error);
        *sum += weighed(error, w->moments[index], l->inner);
    }
    takt_arena_deinit(&room);
    return TAKT_OK;
}

/* ---- the search ---- */

/* Sums of squares of every channel, over the layers that read the value. */
static void sizes_of(const work *w, size_t value, double *size)
{
    const takt_rescale *s = &w->scales;
    for (size_t i = 0; i < s->layers.count; i++) {
        const takt_shrink_layer *l = &s->layers.at[i];
        for (int64_t k = 0; w->wanted[i] && s->value_of[i] == value + 1 && k < l->inner; k++)
            size[takt_shrink_channel_of(s->layers.graph, l, k)] += w->moments[i][k * l->inner + k];
    }
}

/* Powers of the sizes, centred so that the largest and the smallest are equally far from 1. */
static void powers(const double *size, int64_t channels, double alpha, double *by)
{
    double least = INFINITY, most = 0;
    for (int64_t k = 0; k < channels; k++) {
        const double s = pow(size[k], alpha / 2);
        by[k] = size[k] > 0 && isfinite(s) ? fmax(s, 1e-4) : 1;
        least = fmin(least, by[k]);
        most = fmax(most, by[k]);
    }
    for (int64_t k = 0; k < channels; k++)
        by[k] /= sqrt(least * most);
}

static takt_status search(const work *w, size_t value, double *size, double *tried)
{
    const takt_rescale_value *v = &w->scales.values[value];
    double best = INFINITY;
    sizes_of(w, value, size);
    for (int step = 0; step <= STEPS; step++) {
        double sum = 0;
        powers(size, v->channels, (double)step / STEPS, tried);
        for (size_t i = 0; i < w->scales.layers.count; i++)
            if (w->wanted[i] && w->scales.value_of[i] == value + 1)
                TAKT_TRY(layer_error(w, i, tried, &sum));
        if (!(sum < best))
            continue;
        best = sum;
        for (int64_t k = 0; k < v->channels; k++)
            v->by[k] = tried[k];
    }
    return TAKT_OK;
}

static takt_status search_all(takt_feed *f, const work *w)
{
    takt_status status = TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < w->scales.count; i++) {
        const size_t channels = (size_t)w->scales.values[i].channels;
        takt_arena room;
        if (f->progress != NULL)
            f->progress(f->progress_user, "scaling", i, w->scales.count);
        takt_arena_init(&room, f->ctx);
        double *size = takt_arena_array(&room, channels, sizeof *size);
        double *tried = takt_arena_array(&room, channels, sizeof *tried);
        status = size != NULL && tried != NULL ? search(w, i, size, tried) : TAKT_ERR_MEMORY;
        takt_arena_deinit(&room);
    }
    return status;
}

static takt_status choose_layers(work *w, size_t *count)
{
    takt_rescale *s = &w->scales;
    const takt_awq_request *r = w->request;
    *count = 0;
    w->wanted = takt_arena_array(&s->arena, s->layers.count + 1, sizeof *w->wanted);
    w->moments = takt_arena_array(&s->arena, s->layers.count + 1, sizeof *w->moments);
    if (w->wanted == NULL || w->moments == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < s->layers.count; i++) {
        const takt_shrink_layer *l = &s->layers.at[i];
        w->wanted[i] = s->value_of[i] > 0 && takt_gptq_suits(l) &&
                       (r->keeps == NULL || !r->keeps(r->keeps_user, l->name));
        *count += w->wanted[i];
    }
    return TAKT_OK;
}

takt_status takt_shrink_awq(takt_feed *f, takt_graph **base, const takt_awq_request *request)
{
    work w = {.request = request};
    size_t count;
    TAKT_TRY(takt_rescale_init(&w.scales, *base, true));
    takt_status status = choose_layers(&w, &count);
    if (status == TAKT_OK && count > 0) {
        status = takt_gptq_observe(f, &w.scales.layers, w.wanted, &w.scales.arena, w.moments);
        if (status == TAKT_OK)
            status = search_all(f, &w);
        if (status == TAKT_OK)
            status = takt_rescale_apply(&w.scales, base);
    }
    takt_rescale_deinit(&w.scales);
    return status;
}
