/* time.c - whether a layer is faster in integers, alone. */
#include "shrink/time.h"

#include "api/session/session.h"
#include "ir/attr.h"
#include "op/ops.h"
#include "pass/pass.h"
#include "shrink/base.h"

/* ---- comparing ---- */

/* Small numbers of both signs: no NaN, no denormals, and integers all over their range. */
static takt_status fill(takt_session *s)
{
    for (size_t k = 0; k < takt_session_input_count(s); k++) {
        const takt_tensor_view *v = takt_session_input(s, k);
        uint32_t state = 12345;
        size_t count = 1;
        if (v == NULL)
            return TAKT_ERR_MEMORY;
        for (int d = 0; d < v->rank; d++)
            count *= (size_t)v->dims[d];
        for (size_t i = 0; i < count; i++) {
            state = state * 1664525U + 1013904223U;
            if (takt_dtype_is_float(v->dtype))
                takt_dtype_put_f(v->dtype, v->data, i, (double)(state >> 16) / 32768.0 - 1);
            else if (takt_dtype_bits(v->dtype) <= 16)
                takt_dtype_put_i(v->dtype, v->data, i,
                                 takt_dtype_wrap(v->dtype, (int64_t)(state >> 24)));
            else
                takt_dtype_put_i(v->dtype, v->data, i, 0); /* may be an index */
        }
    }
    return TAKT_OK;
}

static takt_status measure(const takt_shrink_timer *t, takt_session *a, takt_session *b,
                           takt_comparison *c)
{
    const takt_compare_options options = {.max_ns = t->max_ns};
    TAKT_TRY(fill(a));
    TAKT_TRY(fill(b));
    *c = (takt_comparison){.verdict = TAKT_INCONCLUSIVE};
    const takt_status status =
        t->compare != NULL ? t->compare(t->user, a, b, c) : takt_session_compare(a, b, &options, c);
    const takt_session *failed = a->error.status != TAKT_OK ? a : b;
    if (status != TAKT_OK && failed->error.status != TAKT_OK)
        a->ctx->error = failed->error;
    return status;
}

/* The graph as in its first run, however often it runs: a cache of rows would be full after some.
 * Takes ownership of `g`, even on failure. */
static takt_status at_first(takt_graph **g)
{
    static const takt_pass copy = {.name = "copy", .summary = "copy what is live"};
    takt_graph *made = NULL;
    const takt_status status = takt_pass_apply(&copy, *g, NULL, &made);
    takt_graph_destroy(*g);
    *g = made;
    for (size_t i = 0; status == TAKT_OK && i < made->slot_count; i++)
        made->slots[i].next = TAKT_NONE;
    return status;
}

takt_status takt_shrink_time(const takt_shrink_timer *t, const takt_model *ma, takt_graph *before,
                             const takt_model *mb, takt_graph *after, takt_comparison *c)
{
    takt_shrink_run a, b = {0};
    takt_status status = at_first(&before);
    if (status == TAKT_OK)
        status = at_first(&after);
    if (status == TAKT_OK)
        status = takt_shrink_run_init(&a, ma, before, t->sizes, t->threads);
    else
        takt_graph_destroy(before);
    if (status != TAKT_OK) {
        takt_graph_destroy(after);
        return status;
    }
    status = takt_shrink_run_init(&b, mb, after, t->sizes, t->threads);
    if (status == TAKT_OK)
        status = measure(t, a.session, b.session, c);
    takt_shrink_run_deinit(&b);
    takt_shrink_run_deinit(&a);
    return status;
}

/* ---- one layer ---- */

static takt_id activated(takt_graph *g, const takt_graph *base, const takt_shrink_layer *l,
                         takt_id y)
{
    if (l->act == TAKT_NONE)
        return y;
    const takt_node *n = &base->nodes[l->act];
    return takt_graph_append(g, n->op, 1, &y, n->attr);
}

takt_id takt_shrink_layer_end(takt_graph *g, const takt_graph *base, const takt_shrink_layer *l,
                              takt_id y)
{
    if (l->add != TAKT_NONE)
        y = takt_add(g, y, takt_graph_constant(g, base->nodes[l->bias].attr[0].tensor));
    return activated(g, base, l, y);
}

takt_status takt_shrink_layer_graph(const takt_graph *base, const takt_shrink_layer *l,
                                    takt_graph **out)
{
    takt_graph *g;
    TAKT_TRY(takt_graph_create(base->ctx, base, &g));
    const takt_node *n = &base->nodes[l->product];
    takt_id in[2] = {takt_graph_input(g, "x", takt_type_of(base, l->x)),
                     takt_graph_constant(g, base->nodes[l->w].attr[0].tensor)};
    const takt_id y = takt_graph_append(g, n->op, 2, in, n->attr);
    takt_graph_output(g, "y", takt_shrink_layer_end(g, base, l, y));
    *out = g;
    return TAKT_OK;
}

static takt_status layer_of_integers(const takt_qdq *q, size_t index, bool is_wanted,
                                     takt_graph **out)
{
    const takt_graph *base = q->layers->graph;
    const takt_shrink_layer *l = &q->layers->at[index];
    const int bits = q->kind->x_bits;
    takt_graph *g;
    TAKT_TRY(takt_graph_create(base->ctx, base, &g));
    takt_type type = *takt_type_of(base, l->x);
    if (bits > 0)
        type.dtype = bits == 16 ? TAKT_I16 : TAKT_I8;
    takt_id x = takt_graph_input(g, "x", &type);
    if (bits > 0)
        x = takt_qdq_dequantize(g, x, &q->grids[l->x], bits);
    const takt_quant_form form = {base, l, q->kind, &q->weights[index]};
    takt_id y = takt_qdq_layer(g, &form, x, bits > 0 ? q->grids[l->x].scale : 0);
    y = activated(g, base, l, y);
    if (bits > 0 && is_wanted)
        y = takt_qdq_quantize(g, y, &q->grids[l->end], bits);
    takt_graph_output(g, "y", y);
    *out = g;
    return TAKT_OK;
}

/* The same shapes and attributes: the same time. */
static bool is_alike(const takt_qdq *q, const bool *wanted, size_t i, size_t k)
{
    const takt_graph *g = q->layers->graph;
    const takt_shrink_layer *a = &q->layers->at[i], *b = &q->layers->at[k];
    const takt_node *m = &g->nodes[a->product], *n = &g->nodes[b->product];
    if (m->op != n->op || (a->add == TAKT_NONE) != (b->add == TAKT_NONE) ||
        (a->act == TAKT_NONE) != (b->act == TAKT_NONE) || wanted[a->end] != wanted[b->end] ||
        q->weights[i].has_bias != q->weights[k].has_bias ||
        !takt_type_same(g->dims, takt_type_of(g, a->x), takt_type_of(g, b->x)) ||
        !takt_type_same(g->dims, takt_type_of(g, a->w), takt_type_of(g, b->w)) ||
        (a->act != TAKT_NONE && g->nodes[a->act].op != g->nodes[b->act].op))
        return false;
    for (size_t k2 = 0; k2 < takt_op_attr_count(m->op); k2++)
        if (!takt_attr_same(&m->op->attrs[k2], &m->attr[k2], &n->attr[k2]))
            return false;
    return true;
}

static takt_status time_layer(const takt_shrink_timer *t, const takt_model *m, const takt_qdq *q,
                              size_t index, bool is_wanted, takt_comparison *c)
{
    takt_graph *before, *after;
    TAKT_TRY(takt_shrink_layer_graph(q->layers->graph, &q->layers->at[index], &before));
    const takt_status status = layer_of_integers(q, index, is_wanted, &after);
    if (status != TAKT_OK) {
        takt_graph_destroy(before);
        return status;
    }
    return takt_shrink_time(t, m, before, m, after, c);
}

takt_status takt_shrink_time_layers(const takt_shrink_timer *t, const takt_model *m,
                                    const takt_qdq *q, const bool *wanted, takt_comparison *times)
{
    for (size_t i = 0; i < q->layers->count; i++) {
        size_t like = i;
        if (t->progress != NULL)
            t->progress(t->progress_user, "measuring", i, q->layers->count);
        for (size_t k = 0; k < i && like == i; k++)
            if (q->taken[k] && is_alike(q, wanted, i, k))
                like = k;
        if (!q->taken[i])
            continue;
        if (like < i)
            times[i] = times[like];
        else
            TAKT_TRY(time_layer(t, m, q, i, wanted[q->layers->at[i].end], &times[i]));
    }
    return TAKT_OK;
}
