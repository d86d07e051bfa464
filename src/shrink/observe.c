/* observe.c - the values of a model on data, and the effect of rounding each layer on them. */
#include "shrink/observe.h"

#include <math.h>
#include <stdio.h>

#include "op/ops.h"
#include "pass/copier.h"
#include "plan/finish.h"

double takt_decibels(double signal, double noise)
{
    return noise > 0 ? 10 * log10(signal / noise) : INFINITY;
}

/* All nodes of the base, with room to append to. */
static takt_status begin(takt_copier *c, const takt_graph *base)
{
    TAKT_TRY(takt_copier_init(c, base));
    TAKT_TRY(takt_graph_begin_copy(base, c->out, c->map));
    for (size_t i = 0; i < base->count; i++) {
        if (!c->live[i] || c->map[i] != TAKT_NONE)
            continue;
        const takt_node n = takt_copier_node(c, (takt_id)i);
        c->map[i] = takt_graph_copy_node(c->out, &n, n.in);
    }
    return c->out->status;
}

static void add_output(takt_graph *g, const char *what, size_t index, takt_id id)
{
    char name[48];
    snprintf(name, sizeof name, "shrink.%s%zu", what, index);
    takt_graph_output(g, name, id);
}

/* ---- ranges ---- */

static takt_status check_seen(takt_ctx *ctx, const takt_graph *base, takt_id id,
                              const takt_range_seen *r)
{
    const takt_node *n = &base->nodes[id];
    if (r->not_finite > 0) {
        takt_fail(ctx, TAKT_E_SHRINK_DATA, "%s has %llu NaN or infinite values on this data",
                  takt_node_label(n), (unsigned long long)r->not_finite);
        return takt_fail_hint(ctx, "a range needs finite numbers: %s",
                              n->op == &takt_op_input ? "leave such samples out"
                                                      : "`takt check` says where values overflow");
    }
    if (n->op == &takt_op_input && r->least == r->greatest) {
        takt_fail(ctx, TAKT_E_SHRINK_DATA, "every element of %s is %g in this data",
                  takt_node_label(n), r->least);
        return takt_fail_hint(ctx, "give samples that differ, as those that the model will see");
    }
    return TAKT_OK;
}

static takt_status see(takt_feed *f, takt_shrink_run *r, const takt_graph *base, const bool *wanted,
                       takt_range_seen **seen)
{
    for (uint64_t run = 0; run < f->runs; run++) {
        uint64_t count;
        size_t at = base->output_count;
        TAKT_TRY(takt_feed_put(f, r, run, &count));
        TAKT_TRY(takt_shrink_run_once(r));
        for (size_t i = 0; i < base->count; i++) {
            if (!wanted[i])
                continue;
            const takt_tensor_view *v = takt_session_output(r->session, at++);
            size_t elements = 1;
            for (int d = 0; v != NULL && d < v->rank; d++)
                elements *= (size_t)v->dims[d];
            if (v == NULL)
                return TAKT_ERR_MEMORY;
            takt_range_add(seen[i], v->data, elements);
        }
    }
    for (size_t i = 0; i < base->count; i++)
        if (wanted[i])
            TAKT_TRY(check_seen(f->ctx, base, (takt_id)i, seen[i]));
    return TAKT_OK;
}

takt_status takt_observe(takt_feed *f, const takt_graph *base, const bool *wanted,
                         takt_arena *arena, takt_range_seen **seen)
{
    takt_copier c;
    takt_graph *g = NULL;
    takt_shrink_run r;
    takt_status status = begin(&c, base);
    const takt_id *map = c.map;
    if (status == TAKT_OK)
        status = takt_graph_end_copy(base, c.out, map);
    for (size_t i = 0; status == TAKT_OK && i < base->count; i++) {
        if (!wanted[i])
            continue;
        seen[i] = takt_arena_array(arena, 1, sizeof **seen);
        status = seen[i] != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
        add_output(c.out, "seen", i, map[i]);
    }
    if (status == TAKT_OK) { /* the work that the copier would do at its end is done */
        g = c.out;
        takt_arena_deinit(&c.arena);
    } else {
        return takt_copier_done(&c, status, &g);
    }
    TAKT_TRY(takt_shrink_run_init(&r, f->model, g, f->sizes, f->threads));
    status = see(f, &r, base, wanted, seen);
    takt_shrink_run_deinit(&r);
    return status;
}

/* ---- noise ---- */

static takt_id sum_of_squares(takt_graph *g, takt_id x)
{
    return takt_reduce_over(g, &takt_op_reduce_sum, takt_mul(g, x, x), NULL, 0, false);
}

/* The mean over all axes but the channels'. */
static takt_id channel_mean(takt_graph *g, takt_id x, int axis)
{
    int64_t axes[TAKT_MAX_RANK];
    size_t count = 0;
    for (int d = 0; d < takt_type_of(g, x)->rank; d++)
        if (d != axis)
            axes[count++] = d;
    return takt_reduce_over(g, &takt_op_reduce_mean, x, axes, count, false);
}

/* Before the bias on both sides: so the correction is that of the bias. */
static void add_noise(takt_copier *c, const takt_qdq *q, size_t index)
{
    const takt_shrink_layer *l = &q->layers->at[index];
    takt_graph *g = c->out;
    takt_quant_weights weights = q->weights[index];
    weights.has_bias = false;
    takt_id x = c->map[l->x];
    if (q->kind->x_bits > 0) {
        const takt_quant_grid *grid = &q->grids[l->x];
        const takt_id bytes = takt_qdq_quantize(g, x, grid, q->kind->x_bits);
        x = takt_qdq_dequantize(g, bytes, grid, q->kind->x_bits);
    }
    const takt_id exact = c->map[l->product];
    const takt_quant_form form = {c->in, l, q->kind, &weights};
    const takt_id y = takt_qdq_layer(g, &form, x, 0);
    const takt_id error = takt_sub(g, exact, y);
    add_output(g, "signal", index, sum_of_squares(g, exact));
    add_output(g, "noise", index, sum_of_squares(g, error));
    add_output(g, "shift", index, channel_mean(g, error, l->y_axis));
}

static takt_status gather(takt_feed *f, takt_shrink_run *r, const takt_qdq *q, uint64_t runs,
                          takt_layer_noise *noise)
{
    for (uint64_t run = 0; run < runs; run++) {
        uint64_t count;
        size_t at = 0;
        TAKT_TRY(takt_feed_put(f, r, run, &count));
        TAKT_TRY(takt_shrink_run_once(r));
        for (size_t i = 0; i < q->layers->count; i++) {
            if (!q->taken[i])
                continue;
            const takt_tensor_view *v[3];
            for (size_t k = 0; k < 3; k++)
                if ((v[k] = takt_session_output(r->session, at++)) == NULL)
                    return TAKT_ERR_MEMORY;
            noise[i].signal += (double)*(const float *)v[0]->data;
            noise[i].noise += (double)*(const float *)v[1]->data;
            for (int64_t c = 0; c < q->layers->at[i].rows; c++)
                noise[i].shift[c] += (double)((const float *)v[2]->data)[c] / (double)runs;
        }
    }
    return TAKT_OK;
}

takt_status takt_observe_noise(takt_feed *f, const takt_qdq *q, uint64_t samples, takt_arena *arena,
                               takt_layer_noise *noise)
{
    takt_copier c;
    takt_graph *g = NULL;
    takt_shrink_run r;
    const takt_shrink_layers *l = q->layers;
    takt_status status = begin(&c, l->graph);
    for (size_t i = 0; status == TAKT_OK && i < l->count; i++) {
        if (!q->taken[i])
            continue;
        noise[i].shift = takt_arena_array(arena, (size_t)l->at[i].rows, sizeof(double));
        status = noise[i].shift != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
        add_noise(&c, q, i);
        if (status == TAKT_OK)
            status = c.out->status;
    }
    for (size_t i = 0; status == TAKT_OK && i < l->graph->slot_count; i++)
        if (l->graph->slots[i].next != TAKT_NONE)
            takt_graph_set_next(c.out, l->graph->slots[i].name, c.map[l->graph->slots[i].next]);
    if (status != TAKT_OK)
        return takt_copier_done(&c, status, &g);
    g = c.out;
    takt_arena_deinit(&c.arena);
    const uint64_t full = f->rest_count > 0 ? f->runs - 1 : f->runs; /* of equal weight */
    uint64_t runs = (samples + f->per_run - 1) / f->per_run;
    runs = runs < full ? runs : full;
    TAKT_TRY(takt_shrink_run_init(&r, f->model, g, f->sizes, f->threads));
    status = gather(f, &r, q, runs > 0 ? runs : 1, noise);
    takt_shrink_run_deinit(&r);
    return status;
}
