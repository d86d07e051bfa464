/* diff.c - both models evaluated in step, and the errors of each value. */
#include "verify/diff.h"

#include <math.h>
#include <string.h>

#include "base/options.h"
#include "op/ops.h"
#include "verify/diff_report.h"
#include "verify/program.h"

/* As written, except for sizes and parameters. */
static takt_status make_graph(const takt_model *m, const char *sizes, takt_graph **g)
{
    const takt_plan_options options = {
        .sizes = sizes, .passes = "-all", .checks = "off", .backend = "cpu", .threads = 1};
    return takt_program_graph(m, &options, g);
}

/* ---- values from the reference's ---- */

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

/* The value of node `id` of own, computed from the reference's values. */
static takt_status here(takt_diff_work *w, takt_id id, takt_array *out)
{
    const takt_node *n = &w->own.graph->nodes[id];
    const takt_array **inputs = takt_arena_array(&w->arena, n->in_count + 1, sizeof *inputs);
    if (inputs == NULL)
        return TAKT_ERR_MEMORY;
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_id in = n->in[k];
        if (in != TAKT_NONE)
            inputs[k] = w->from_ref[in].rank >= 0 ? &w->from_ref[in] : &w->own.values[in];
    }
    return takt_diff_evaluate(w, &w->own, id, inputs, out);
}

/* Nodes without inputs, and results that several nodes read as one, keep their own value. */
static takt_status fill_from_ref(takt_diff_work *w, takt_id id)
{
    const takt_node *n = &w->own.graph->nodes[id];
    if (w->own.readers[id] == 0)
        return TAKT_OK;
    if (w->match[id] != TAKT_NONE)
        return take_reference(w, id);
    if (n->in_count == 0 || n->out_count != 1 || n->op == &takt_op_get)
        return TAKT_OK;
    return here(w, id, &w->from_ref[id]);
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

/* How many elements are off by this fraction of the largest value, by powers of ten. */
static void count_bins(takt_diff_work *w, const takt_array *made, const takt_array *want)
{
    double largest = 0;
    if (made->count != want->count || made->f == NULL || want->f == NULL)
        return;
    for (size_t i = 0; i < want->count; i++)
        largest = isfinite(want->f[i]) ? fmax(largest, fabs(want->f[i])) : largest;
    for (size_t i = 0; i < want->count; i++) {
        const double share = fabs(made->f[i] - want->f[i]) / (largest > 0 ? largest : 1);
        const double power = share > 0 ? -log10(share) : TAKT_DIFF_BINS;
        const int bin = !(power > 0)                  ? 0
                        : power >= TAKT_DIFF_BINS - 1 ? TAKT_DIFF_BINS - 1
                                                      : (int)power;
        w->bins[bin]++;
    }
    w->has_bins = true;
}

static takt_status compare_node(takt_diff_work *w, takt_id id, const takt_array *made)
{
    const double tolerance = w->o->tolerance > 0 ? w->o->tolerance : 2e-6;
    const takt_array *want = &w->ref.values[w->match[id]];
    const error now = error_of(made, want), all = error_of(&w->own.values[id], want);
    takt_diff_row *row = &w->rows[w->count++];
    *row = (takt_diff_row){.id = id,
                           .at = id,
                           .ref = w->match[id],
                           .made = now.most,
                           .carried = all.most,
                           .sqnr_made = now.sqnr,
                           .sqnr = all.sqnr};
    if (!(now.most > tolerance))
        return TAKT_OK;
    if (w->findings++ == 0)
        count_bins(w, made, want);
    return takt_diff_explain(w, row, made);
}

static bool is_compared(const takt_diff_work *w, size_t id)
{
    const takt_node *n = &w->own.graph->nodes[id];
    return takt_diff_is_value(&w->own, id) && n->in_count > 0 && n->op != &takt_op_get;
}

/* Node `id` of own and its counterpart, whose inputs are in memory. */
static takt_status visit(takt_diff_work *w, takt_id id)
{
    const bool is_matched = w->match[id] != TAKT_NONE;
    TAKT_TRY(takt_diff_run(w, &w->own, id));
    if (is_matched)
        TAKT_TRY(takt_diff_reach(w, &w->ref, w->match[id]));
    if (is_compared(w, id) && is_matched) {
        takt_array made = {.rank = -1};
        takt_status status = here(w, id, &made);
        if (status == TAKT_OK)
            status = compare_node(w, id, &made);
        if (made.rank >= 0)
            takt_array_release(w->ctx, &made);
        TAKT_TRY(status);
    }
    w->unmatched += is_compared(w, id) && !is_matched;
    TAKT_TRY(fill_from_ref(w, id));
    if (is_matched)
        takt_diff_leave(w, &w->ref, w->match[id]);
    return TAKT_OK;
}

static void leave(takt_diff_work *w, takt_id id)
{
    if (takt_diff_leave(w, &w->own, id) && w->from_ref[id].rank >= 0) {
        takt_array_release(w->ctx, &w->from_ref[id]);
        w->from_ref[id].rank = -1;
    }
}

static takt_status compare(takt_diff_work *w)
{
    const takt_graph *g = w->own.graph;
    for (size_t i = 0; i < g->count; i++) /* each counterpart is read by its node */
        if (!w->own.live[i] || g->nodes[i].op == &takt_op_constant || g->nodes[i].out_count != 1)
            w->match[i] = TAKT_NONE;
    TAKT_TRY(takt_diff_begin(w, &w->ref, w->match, g->count));
    TAKT_TRY(takt_diff_begin(w, &w->own, NULL, 0));
    for (size_t i = 0; i < g->count; i++) {
        const takt_node *n = &g->nodes[i];
        if (!w->own.live[i] || n->op == &takt_op_constant)
            continue;
        w->own.readers[i]++; /* this step */
        TAKT_TRY(visit(w, (takt_id)i));
        for (uint32_t k = 0; k < n->in_count; k++)
            if (n->in[k] != TAKT_NONE)
                leave(w, n->in[k]);
        leave(w, (takt_id)i);
    }
    return TAKT_OK;
}

enum { DEEPEST = 8 }; /* maximum distance in nodes between a constant and the last late one */

static takt_status work(takt_diff_work *w, const takt_model *ref, const takt_model *own)
{
    const bool has_names = ref != NULL && takt_dims_name_count(ref->graph->dims) > 0;
    if (ref != NULL)
        TAKT_TRY(make_graph(ref, has_names ? w->o->sizes : NULL, &w->ref.graph));
    TAKT_TRY(make_graph(own, w->o->sizes, &w->own.graph));
    const size_t count = w->own.graph->count + 1;
    w->match = takt_arena_array(&w->arena, count, sizeof *w->match);
    w->from_ref = takt_arena_array(&w->arena, count, sizeof *w->from_ref);
    w->rows = takt_arena_array(&w->arena, count, sizeof *w->rows);
    if (w->match == NULL || w->from_ref == NULL || w->rows == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        w->from_ref[i].rank = -1;
    if (ref == NULL)
        TAKT_TRY(takt_diff_widen(w));
    TAKT_TRY(takt_diff_side_init(w, DEEPEST, &w->ref));
    TAKT_TRY(takt_diff_side_init(w, 1, &w->own)); /* others have a counterpart's value */
    if (ref != NULL)
        TAKT_TRY(takt_diff_match(w));
    return compare(w);
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
    takt_diff_work w = {.ctx = model->ctx, .o = &o};
    takt_arena_init(&w.arena, w.ctx);
    takt_status status = work(&w, reference, model);
    if (status == TAKT_OK)
        status = takt_diff_report(&w, o.all, format, sink, user, o.summary);
    for (size_t i = 0; w.from_ref != NULL && i < w.own.graph->count; i++)
        if (w.from_ref[i].rank >= 0)
            takt_array_release(w.ctx, &w.from_ref[i]);
    takt_diff_side_release(&w, &w.ref);
    takt_diff_side_release(&w, &w.own);
    takt_arena_deinit(&w.arena);
    return status;
}
