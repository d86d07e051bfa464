/* diff.c - both models evaluated, and the errors of each value. */
#include "verify/diff.h"

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "base/philox.h"
#include "interp/interp.h"
#include "op/ops.h"
#include "verify/diff_report.h"
#include "verify/program.h"

/* ---- graphs and inputs ---- */

/* As written, except for sizes and parameters. */
static takt_status make_graph(const takt_model *m, const char *sizes, takt_graph **g)
{
    const takt_plan_options options = {
        .sizes = sizes, .passes = "-all", .checks = "off", .backend = "cpu", .threads = 1};
    return takt_program_graph(m, &options, g);
}

static const takt_known_input *data_of(const takt_diff_options *o, size_t input, const char *name)
{
    for (size_t i = 0; i < o->data_count; i++)
        if (o->data[i].name == NULL ? i == input : strcmp(o->data[i].name, name) == 0)
            return &o->data[i];
    return NULL;
}

static takt_status fill_given(takt_ctx *ctx, const takt_known_input *known, const char *name,
                              takt_array *a)
{
    const takt_tensor_view *v = &known->view;
    bool good = v->rank == a->rank;
    for (int d = 1; good && d < a->rank; d++)
        good = v->dims[d] == a->dim[d];
    if (!good || (a->rank > 0 && v->dims[0] < a->dim[0]))
        return takt_fail(ctx, TAKT_E_BINDING, "the data for %s does not have its shape", name);
    for (size_t i = 0; i < a->count; i++) {
        const double x =
            takt_dtype_is_float(v->dtype)
                ? takt_dtype_get_f(v->dtype, v->data, i)
                : takt_dtype_to_double(v->dtype, takt_dtype_get_i(v->dtype, v->data, i));
        if (a->f != NULL)
            a->f[i] = takt_dtype_round(a->dtype, x);
        else
            a->i[i] = takt_dtype_from_double(a->dtype, x);
    }
    return TAKT_OK;
}

static void fill_random(takt_array *a, size_t input)
{
    const takt_philox_at at = {.seed = 0, .step = 0, .stream = (uint32_t)input};
    for (size_t i = 0; i < a->count; i++) {
        const double x = 2 * takt_philox_uniform(takt_philox_word(&at, i)) - 1;
        if (a->f != NULL)
            a->f[i] = takt_dtype_round(a->dtype, x);
        else
            a->i[i] = x > 0;
    }
}

static takt_status fill_input(takt_diff_work *w, const takt_diff_options *o,
                              const takt_diff_side *s, size_t i)
{
    const takt_port *p = &s->graph->inputs[i];
    takt_array *a = &s->values[p->id];
    TAKT_TRY(takt_array_create(w->ctx, takt_type_of(s->graph, p->id), a));
    const takt_known_input *known = data_of(o, i, p->name);
    if (known != NULL)
        return fill_given(w->ctx, known, p->name, a);
    fill_random(a, i);
    return TAKT_OK;
}

/* ---- evaluation ---- */

typedef const takt_array *value_fn(takt_diff_work *w, takt_id id);

static takt_status evaluate(takt_diff_work *w, const takt_graph *g, takt_id id,
                            const takt_array *const *inputs, takt_array *out)
{
    const takt_node *n = &g->nodes[id];
    takt_array *in = takt_arena_array(&w->arena, n->in_count + 1, sizeof *in);
    if (in == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        in[k] = inputs[k] != NULL ? *inputs[k] : (takt_array){.rank = -1};
    return takt_interpret_node(w->ctx, g, n, in, out);
}

static takt_status run_node(takt_diff_work *w, takt_diff_side *s, takt_id id)
{
    const takt_graph *g = s->graph;
    const takt_node *n = &g->nodes[id];
    if (n->op == &takt_op_get)
        return takt_array_copy(w->ctx, &s->several[n->in[0]][n->attr[0].i64], &s->values[id]);
    const takt_array **inputs = takt_arena_array(&w->arena, n->in_count + 1, sizeof *inputs);
    if (inputs == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        inputs[k] = n->in[k] != TAKT_NONE ? &s->values[n->in[k]] : NULL;
    if (n->out_count == 1)
        return evaluate(w, g, id, inputs, &s->values[id]);
    takt_array *all = takt_arena_array(&w->arena, n->out_count + 1, sizeof *all);
    if (all == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(evaluate(w, g, id, inputs, all));
    s->several[id] = all;
    return TAKT_OK;
}

static takt_status run_side(takt_diff_work *w, const takt_diff_options *o, takt_diff_side *s)
{
    const takt_graph *g = s->graph;
    s->live = takt_arena_array(&w->arena, g->count + 1, 1);
    s->values = takt_arena_array(&w->arena, g->count + 1, sizeof *s->values);
    s->several = takt_arena_array(&w->arena, g->count + 1, sizeof *s->several);
    s->same = takt_arena_array(&w->arena, g->count + 1, sizeof *s->same);
    if (s->live == NULL || s->values == NULL || s->several == NULL || s->same == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++)
        s->values[i].rank = -1;
    if (g->slot_count > 0)
        return takt_fail(w->ctx, TAKT_E_STATE, "model %s has state: cut a part without it",
                         g->name);
    takt_graph_live(g, s->live);
    for (size_t i = 0; i < g->input_count; i++)
        TAKT_TRY(fill_input(w, o, s, i));
    for (size_t i = 0; i < g->count; i++)
        if (s->live[i] && s->values[i].rank < 0 && g->nodes[i].op != &takt_op_input)
            TAKT_TRY(run_node(w, s, (takt_id)i));
    return TAKT_OK;
}

/* A node with a counterpart gets the reference's value, in the model's type. */
static takt_status take_reference(takt_diff_work *w, takt_id id)
{
    takt_array *to = &w->from_ref[id];
    const takt_array *from = &w->ref.values[w->match[id]];
    TAKT_TRY(takt_array_create(w->ctx, takt_type_of(w->own.graph, id), to));
    if (from->count != to->count || from->f == NULL || to->f == NULL) {
        takt_array_release(w->ctx, to);
        return takt_array_copy(w->ctx, &w->own.values[id], to);
    }
    memcpy(to->f, from->f, to->count * sizeof *to->f);
    takt_array_round(to);
    return TAKT_OK;
}

/* Value of an input of a node whose error is computed. */
static takt_status there(takt_diff_work *w, takt_id id, int depth, const takt_array **value);

static takt_status here(takt_diff_work *w, takt_id id, int depth, takt_array *out)
{
    const takt_node *n = &w->own.graph->nodes[id];
    const takt_array **inputs = takt_arena_array(&w->arena, n->in_count + 1, sizeof *inputs);
    if (inputs == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++)
        if (n->in[k] != TAKT_NONE)
            TAKT_TRY(there(w, n->in[k], depth + 1, &inputs[k]));
    return evaluate(w, w->own.graph, id, inputs, out);
}

static takt_status there(takt_diff_work *w, takt_id id, int depth, const takt_array **value)
{
    enum { DEEPEST = 64 };
    const takt_node *n = &w->own.graph->nodes[id];
    *value = &w->own.values[id];
    const bool is_own = n->in_count == 0 || n->out_count != 1 || n->op == &takt_op_get;
    if (w->match[id] == TAKT_NONE && (is_own || depth > DEEPEST))
        return TAKT_OK;
    *value = &w->from_ref[id];
    if (w->from_ref[id].rank >= 0)
        return TAKT_OK;
    return w->match[id] != TAKT_NONE ? take_reference(w, id) : here(w, id, depth, &w->from_ref[id]);
}

takt_status takt_diff_here(takt_diff_work *w, takt_id id, const takt_array **value)
{
    takt_array *made = takt_arena_array(&w->arena, 1, sizeof *made);
    *value = made;
    if (made == NULL)
        return TAKT_ERR_MEMORY;
    made->rank = -1;
    if (w->own.graph->nodes[id].in_count == 0) {
        *value = &w->own.values[id];
        return TAKT_OK;
    }
    TAKT_TRY(here(w, id, 0, made));
    w->kept[w->kept_count++] = made;
    return TAKT_OK;
}

/* ---- errors ---- */

typedef struct error {
    double most, sqnr;
} error;

static error error_of(const takt_array *x, const takt_array *want)
{
    double most = 0, largest = 0, noise = 0, signal = 0;
    if (x->count != want->count || x->f == NULL || want->f == NULL)
        return (error){INFINITY, -INFINITY};
    for (size_t i = 0; i < x->count; i++) {
        const bool same = x->f[i] == want->f[i] || (isnan(x->f[i]) && isnan(want->f[i]));
        const double d = same ? 0 : fabs(x->f[i] - want->f[i]);
        if (isfinite(want->f[i])) {
            largest = fmax(largest, fabs(want->f[i]));
            signal += want->f[i] * want->f[i];
        }
        most = d <= most ? most : isnan(d) ? INFINITY : d;
        noise += d * d;
    }
    return (error){most == 0 ? 0 : most / (largest > 0 ? largest : 1),
                   noise == 0 ? INFINITY : 10 * log10((signal > 0 ? signal : 1e-300) / noise)};
}

static takt_status compare(takt_diff_work *w, double tolerance)
{
    const takt_graph *g = w->own.graph;
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        const bool is_value = w->own.live[i] && n->out_count == 1 && n->in_count > 0 &&
                              n->op != &takt_op_get && takt_dtype_is_float(n->type[0].dtype);
        if (!is_value)
            continue;
        if (w->match[i] == TAKT_NONE) {
            w->unmatched++;
            continue;
        }
        const takt_array *made, *want = &w->ref.values[w->match[i]];
        TAKT_TRY(takt_diff_here(w, (takt_id)i, &made));
        const error now = error_of(made, want), all = error_of(&w->own.values[i], want);
        takt_diff_row *row = &w->rows[w->count++];
        *row = (takt_diff_row){.id = (takt_id)i,
                               .at = (takt_id)i,
                               .ref = w->match[i],
                               .made = now.most,
                               .carried = all.most,
                               .sqnr_made = now.sqnr,
                               .sqnr = all.sqnr};
        if (now.most > tolerance) {
            takt_diff_explain(w, row);
            w->findings++;
        }
    }
    return TAKT_OK;
}

static void release_side(takt_diff_work *w, takt_diff_side *s)
{
    for (size_t i = 0; s->graph != NULL && s->values != NULL && i < s->graph->count; i++) {
        if (s->values[i].rank >= 0)
            takt_array_release(w->ctx, &s->values[i]);
        for (uint32_t k = 0; s->several[i] != NULL && k < s->graph->nodes[i].out_count; k++)
            takt_array_release(w->ctx, &s->several[i][k]);
    }
    takt_graph_destroy(s->graph);
}

static takt_status work(takt_diff_work *w, const takt_model *ref, const takt_model *own,
                        const takt_diff_options *o)
{
    const bool has_names = ref != NULL && takt_dims_name_count(ref->graph->dims) > 0;
    if (ref != NULL)
        TAKT_TRY(make_graph(ref, has_names ? o->sizes : NULL, &w->ref.graph));
    TAKT_TRY(make_graph(own, o->sizes, &w->own.graph));
    const size_t count = w->own.graph->count + 1;
    w->match = takt_arena_array(&w->arena, count, sizeof *w->match);
    w->from_ref = takt_arena_array(&w->arena, count, sizeof *w->from_ref);
    w->rows = takt_arena_array(&w->arena, count, sizeof *w->rows);
    w->kept = takt_arena_array(&w->arena, 2 * count + 2, sizeof *w->kept);
    if (w->match == NULL || w->from_ref == NULL || w->rows == NULL || w->kept == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        w->from_ref[i].rank = -1;
    if (ref == NULL)
        TAKT_TRY(takt_diff_widen(w));
    TAKT_TRY(run_side(w, o, &w->ref));
    TAKT_TRY(run_side(w, o, &w->own));
    if (ref != NULL)
        takt_diff_match(w);
    return compare(w, o->tolerance > 0 ? o->tolerance : 2e-6);
}

takt_status takt_model_diff(const takt_model *reference, const takt_model *model,
                            const takt_diff_options *options, takt_format format,
                            takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, sink);
    takt_diff_options o;
    if (model == NULL)
        return TAKT_ERR_ARGUMENT;
    TAKT_TRY(takt_options_read(model->ctx, "takt_diff_options", options, &o, sizeof o));
    takt_diff_work w = {.ctx = model->ctx};
    takt_arena_init(&w.arena, w.ctx);
    takt_status status = work(&w, reference, model, &o);
    if (status == TAKT_OK)
        status = takt_diff_report(&w, o.all, format, sink, user, o.summary);
    for (size_t i = 0; w.from_ref != NULL && i < w.own.graph->count; i++)
        if (w.from_ref[i].rank >= 0)
            takt_array_release(w.ctx, &w.from_ref[i]);
    for (size_t i = 0; i < w.kept_count; i++)
        if (w.kept[i]->rank >= 0)
            takt_array_release(w.ctx, w.kept[i]);
    release_side(&w, &w.ref);
    release_side(&w, &w.own);
    takt_arena_deinit(&w.arena);
    return status;
}
