/* gptq.c - weights rounded one column after another, each making up for the errors before it.
 *
 * The error of a column is spread over those that are not rounded yet, so that the product with
 * inputs like those of the data changes least (E. Frantar and others, 2022). With H = x' x and the
 * upper Cholesky factor U of its inverse: the error of column j over U[j][j], times U[j][k], is
 * taken off column k.
 */
#include "shrink/gptq.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/ops.h"
#include "op/util/make.h"
#include "pass/copier.h"

bool takt_gptq_suits(const takt_shrink_layer *l)
{
    return !l->is_conv && l->inner <= TAKT_GPTQ_MOST;
}

/* ---- the sums ---- */

static void add_moment(takt_copier *c, const takt_shrink_layer *l, size_t index)
{
    takt_graph *g = c->out;
    char name[48];
    const takt_type x = *takt_type_of(g, c->map[l->x]);
    const takt_dim rows = takt_make_product(g, x.dim, x.rank - 1);
    const takt_id flat = takt_reshape(g, c->map[l->x], (takt_dim[]){rows, l->inner}, 2);
    snprintf(name, sizeof name, "shrink.moment%zu", index);
    takt_graph_output(g, name, takt_matmul(g, flat, flat, true, false));
}

static takt_status build(const takt_shrink_layers *layers, const bool *wanted, takt_graph **out)
{
    takt_copier c;
    const takt_graph *base = layers->graph;
    takt_status status = takt_copier_init(&c, base);
    if (status == TAKT_OK)
        status = takt_graph_begin_copy(base, c.out, c.map);
    for (size_t i = 0; status == TAKT_OK && i < base->count; i++) {
        if (!c.live[i] || c.map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(&c, (takt_id)i);
        c.map[i] = takt_graph_copy_node(c.out, &n, n.in);
        status = c.out->status;
    }
    for (size_t i = 0; status == TAKT_OK && i < layers->count; i++)
        if (wanted[i])
            add_moment(&c, &layers->at[i], i);
    return takt_copier_done(&c, status == TAKT_OK ? c.out->status : status, out);
}

takt_status takt_gptq_observe(takt_feed *f, const takt_shrink_layers *layers, const bool *wanted,
                              takt_arena *arena, double **moments)
{
    takt_graph *g;
    takt_shrink_run r;
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < layers->count; i++) {
        const size_t size = (size_t)(layers->at[i].inner * layers->at[i].inner);
        moments[i] = wanted[i] ? takt_arena_array(arena, size, sizeof **moments) : NULL;
        if (wanted[i] && moments[i] == NULL)
            return TAKT_ERR_MEMORY;
    }
    TAKT_TRY(build(layers, wanted, &g));
    TAKT_TRY(takt_shrink_run_init(&r, f->model, g, f->sizes, f->threads));
    for (uint64_t run = 0; status == TAKT_OK && run < f->runs; run++) {
        uint64_t count;
        size_t at = 0; /* outputs of the sums come first: the model's own are added at the end */
        status = takt_feed_put(f, &r, run, &count);
        if (status == TAKT_OK)
            status = takt_shrink_run_once(&r);
        for (size_t i = 0; status == TAKT_OK && i < layers->count; i++) {
            const takt_tensor_view *v = wanted[i] ? takt_session_output(r.session, at++) : NULL;
            const size_t size = (size_t)(layers->at[i].inner * layers->at[i].inner);
            if (wanted[i] && v == NULL)
                status = TAKT_ERR_MEMORY;
            for (size_t k = 0; v != NULL && k < size; k++)
                moments[i][k] += (double)((const float *)v->data)[k];
        }
    }
    takt_shrink_run_deinit(&r);
    return status;
}

/* ---- factors ---- */

/* a = l l' in place of the lower half; false if it is not positive. */
static bool cholesky(double *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        double d = a[j * n + j];
        for (int64_t k = 0; k < j; k++)
            d -= a[j * n + k] * a[j * n + k];
        if (!(d > 0))
            return false;
        a[j * n + j] = sqrt(d);
        for (int64_t i = j + 1; i < n; i++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = sum / a[j * n + j];
        }
    }
    return true;
}

/* The inverse of l l', from l. */
static void invert(const double *l, int64_t n, double *inverse, double *column)
{
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = 0; i < n; i++) {
            double sum = i == c ? 1 : 0;
            for (int64_t k = c; k < i; k++)
                sum -= l[i * n + k] * column[k];
            column[i] = i < c ? 0 : sum / l[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            double sum = column[i];
            for (int64_t k = i + 1; k < n; k++)
                sum -= l[k * n + i] * inverse[k * n + c];
            inverse[i * n + c] = sum / l[i * n + i];
        }
    }
}

/* The transposed lower factor of the inverse is the upper one: u[j][k] = l[k][j]. The diagonal is
 * raised a little, because data may not reach every direction. */
static takt_status factor(takt_arena *arena, const double *moments, int64_t n, double **lower)
{
    double *h = takt_arena_array(arena, (size_t)(n * n), sizeof *h);
    double *inverse = takt_arena_array(arena, (size_t)(n * n), sizeof *inverse);
    double *column = takt_arena_array(arena, (size_t)n, sizeof *column);
    double mean = 0;
    *lower = NULL;
    if (h == NULL || inverse == NULL || column == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t i = 0; i < n; i++)
        mean += moments[i * n + i] / (double)n;
    memcpy(h, moments, (size_t)(n * n) * sizeof *h);
    for (int64_t i = 0; i < n; i++)
        h[i * n + i] += 0.01 * mean + 1e-12;
    if (!cholesky(h, n))
        return TAKT_OK;
    invert(h, n, inverse, column);
    if (cholesky(inverse, n))
        *lower = inverse;
    return TAKT_OK;
}

/* ---- rounding ---- */

takt_status takt_gptq_round(takt_arena *arena, const takt_quant_form *form, double *values,
                            const double *moments, takt_quant_weights *w)
{
    const takt_shrink_layer *l = form->layer;
    const int64_t n = l->inner, block = form->kind->block > 0 ? form->kind->block : n;
    const int most = (1 << (form->kind->weight_bits - 1)) - 1;
    takt_arena room;
    double *lower;
    /* Scales of whole rows, and the levels where nothing better is found. */
    TAKT_TRY(takt_quant_weights_make(arena, form->base, l, form->kind, values, w));
    takt_arena_init(&room, arena->ctx);
    const takt_status status = factor(&room, moments, n, &lower);
    for (int64_t r = 0; status == TAKT_OK && lower != NULL && r < l->rows; r++) {
        double *x = values + r * n;
        for (int64_t j = 0; j < n; j++) {
            float *scale = &w->scale[r * w->blocks + j / block];
            if (j % block == 0) /* of what the columns before have made of this block */
                *scale =
                    takt_quant_scale(x + j, n - j < block ? n - j : block, form->kind->weight_bits);
            double q = nearbyint(x[j] / (double)*scale);
            q = q > most ? most : q < -most ? -most : q;
            w->level[r * n + j] = (int8_t)q;
            const double error = (x[j] - q * (double)*scale) / lower[j * n + j];
            for (int64_t k = j + 1; k < n; k++)
                x[k] -= error * lower[k * n + j];
        }
    }
    takt_arena_deinit(&room);
    return status;
}
