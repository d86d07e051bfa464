/* gptq.c - weights rounded one column after another, each compensating for the errors before it.
 *
 * The error of a column is spread over those not yet rounded, so that the product with inputs like
 * those of the data changes least (E. Frantar and others, 2022). With H = x' x and the upper
 * Cholesky factor U of its inverse: the error of column j over U[j][j], times U[j][k], is
 * subtracted from column k. */
#include "shrink/gptq.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/ops.h"
#include "op/util/make.h"
#include "pass/copier.h"
#include "shrink/base.h"

bool takt_gptq_suits(const takt_shrink_layer *l)
{
    return l->inner > 0 && l->inner <= TAKT_GPTQ_MOST &&
           l->groups <= (int64_t)TAKT_GPTQ_MOST * TAKT_GPTQ_MOST / (l->inner * l->inner);
}

size_t takt_gptq_size(const takt_shrink_layer *l)
{
    return (size_t)(l->groups * l->inner * l->inner);
}

/* ---- the sums ---- */

/* The inputs that each row of the weights is multiplied by, as [..., groups * inner]: for a
 * convolution its result with one-hot weights, each of which selects one element of the window. */
static takt_id patches(takt_copier *c, const takt_shrink_layer *l)
{
    takt_graph *g = c->out;
    takt_arena room;
    const takt_id x = c->map[l->x];
    if (!l->is_conv)
        return x;
    const takt_node *n = &c->in->nodes[l->product];
    takt_type type = *takt_type_of(c->in, l->w);
    type.dim[0] = l->groups * l->inner;
    takt_arena_init(&room, g->ctx);
    double *one = takt_arena_array(&room, takt_gptq_size(l), sizeof *one);
    for (int64_t i = 0; one != NULL && i < type.dim[0]; i++)
        one[i * l->inner + i % l->inner] = 1;
    takt_id y =
        one != NULL ? takt_shrink_constant(g, &type, one) : takt_graph_fail(g, TAKT_ERR_MEMORY);
    takt_arena_deinit(&room);
    y = takt_graph_append(g, n->op, 2, (const takt_id[]){x, y}, n->attr);
    int64_t perm[TAKT_MAX_RANK];
    const int rank = n->type->rank;
    for (int d = 0; d < rank - 1; d++)
        perm[d] = d < l->y_axis ? d : d + 1;
    perm[rank - 1] = l->y_axis;
    return takt_transpose(g, y, perm, (size_t)rank);
}

/* [groups, inner, inner] */
static void add_moment(takt_copier *c, const takt_shrink_layer *l, size_t index)
{
    static const int64_t groups_first[] = {1, 0, 2};
    takt_graph *g = c->out;
    char name[48];
    takt_id flat = patches(c, l);
    const takt_type x = *takt_type_of(g, flat);
    if (g->status != TAKT_OK)
        return;
    const takt_dim rows = takt_make_product(g, x.dim, x.rank - 1);
    flat = takt_reshape(g, flat, (takt_dim[]){rows, l->groups, l->inner}, 3);
    flat = takt_transpose(g, flat, groups_first, 3);
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
        const size_t size = takt_gptq_size(&layers->at[i]);
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
            const size_t size = takt_gptq_size(&layers->at[i]);
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

/* One row; `lower` is the factor of its group. */
static void round_row(const takt_quant_form *form, double *x, const double *lower,
                      takt_quant_weights *w, int64_t r)
{
    const int64_t n = form->layer->inner, block = form->kind->block > 0 ? form->kind->block : n;
    const int most = (1 << (form->kind->weight_bits - 1)) - 1;
    for (int64_t j = 0; j < n; j++) {
        float *scale = &w->scale[r * w->blocks + j / block];
        if (j % block == 0) /* of this block, after the corrections by earlier columns */
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

takt_status takt_gptq_round(takt_arena *arena, const takt_quant_form *form, double *values,
                            const double *moments, takt_quant_weights *w)
{
    const takt_shrink_layer *l = form->layer;
    const int64_t n = l->inner, share = l->rows / l->groups;
    takt_status status = TAKT_OK;
    /* Scales of whole rows, and the levels if nothing better is found. */
    TAKT_TRY(takt_quant_weights_make(arena, form->base, l, form->kind, values, w));
    for (int64_t group = 0; status == TAKT_OK && group < l->groups; group++) {
        takt_arena room;
        double *lower;
        takt_arena_init(&room, arena->ctx);
        status = factor(&room, moments + group * n * n, n, &lower);
        for (int64_t r = group * share; lower != NULL && r < (group + 1) * share; r++)
            round_row(form, values + r * n, lower, w, r);
        takt_arena_deinit(&room);
    }
    return status;
}
