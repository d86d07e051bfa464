/* report.c - a profile as a table, in three lines, by layers, and as JSON. */
#include <math.h>
#include <string.h>

#include "base/sort.h"
#include "measure/session/measure.h"
#include "measure/stats_json.h"

enum { FIGURE = TAKT_FIGURE_TEXT };

/* ---- shared ---- */

static void headline(const takt_profile *p, takt_report *r)
{
    takt_text *text = &r->text;
    char a[FIGURE], b[FIGURE], c[FIGURE];
    const takt_stats *s = &p->timing.stats;
    takt_text_add(text, "%s a run (95 %% interval %s to %s, %zu runs), %d thread%s",
                  takt_figure_time(s->median, a), takt_figure_time(s->median_ci.low, b),
                  takt_figure_time(s->median_ci.high, c), s->count, p->plan->threads,
                  p->plan->threads > 1 ? "s" : "");
    takt_text_add(text, "\nfirst run %s, settled after %zu run%s, copying the inputs %s\n",
                  takt_figure_time(p->timing.first_ns, a), p->timing.warmup_runs,
                  p->timing.warmup_runs == 1 ? "" : "s", takt_figure_time(p->timing.copy_ns, b));
    takt_report_config(r, p->plan);
}

/* The minimum time of the whole run by the ceilings. */
static double floor_of(const takt_profile *p)
{
    double sum = 0;
    for (size_t i = 0; i < p->plan->step_count; i++)
        sum += p->rows[i].roof.floor_ns;
    return sum;
}

static double total(const takt_profile *p, bool flops)
{
    double sum = 0;
    for (size_t i = 0; i < p->plan->step_count; i++)
        sum += flops ? p->rows[i].roof.flops : p->rows[i].roof.bytes;
    return sum;
}

static bool is_slower(const void *a, const void *b)
{
    const takt_profile_row *x = a, *y = b;
    return x->median_ns != y->median_ns ? x->median_ns > y->median_ns : x < y;
}

/* ---- JSON ---- */

/* The share of each thread in a step. */
static void threads_json(takt_json_writer *w, const takt_profile *p, const takt_profile_row *row)
{
    const size_t threads = (size_t)p->plan->threads, step = (size_t)(row - p->rows);
    if (row->step->task_count <= 1 || threads <= 1)
        return;
    takt_json_put_number(w, "wait", row->wait);
    takt_json_put_number(w, "imbalance", row->imbalance);
    takt_json_put_open(w, "per_thread", '[');
    for (size_t t = 0; t < threads; t++) {
        const double busy = p->busy_ns[step * threads + t];
        takt_json_open(w, '{');
        takt_json_put_number(w, "busy_us", busy * 1e-3);
        takt_json_put_number(w, "wait_us", fmax(0, row->median_ns - busy) * 1e-3);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

static void row_json(takt_json_writer *w, const takt_profile *p, const takt_profile_row *row)
{
    takt_json_open(w, '{');
    takt_json_put_string(w, "name", row->step->name);
    takt_json_put_string(w, "type", row->step->kind);
    takt_json_put_string(w, "kernel", row->step->kernel != NULL ? row->step->kernel : "generic");
    takt_json_put_number(w, "time_us", row->median_ns * 1e-3);
    takt_json_put_open(w, "ci95_us", '[');
    takt_json_number(w, row->ci.low * 1e-3);
    takt_json_number(w, row->ci.high * 1e-3);
    takt_json_close(w, ']');
    takt_json_put_number(w, "min_us", row->min_ns * 1e-3);
    takt_json_put_number(w, "max_us", row->max_ns * 1e-3);
    takt_json_put_number(w, "share", row->share);
    takt_json_put_number(w, "flops", row->roof.flops);
    takt_json_put_number(w, "bytes", row->roof.bytes);
    takt_json_put_integer(w, "threads", row->roof.threads);
    threads_json(w, p, row);
    if (p->has_ceilings) {
        takt_json_put_string(w, "bound", row->bound);
        takt_json_put_number(w, "pct_of_ceiling", row->percent);
        takt_json_put_number(w, "best_possible_us", row->roof.floor_ns * 1e-3);
    }
    takt_json_put_string(w, "device", "cpu");
    takt_json_close(w, '}');
}

static void steps_json(const takt_profile *p, takt_report *r)
{
    takt_json_writer *w = &r->json;
    takt_json_put_string(w, "schema", "takt-profile/1");
    takt_json_put_open(w, "latency", '{');
    takt_json_put_string(w, "unit", "ms");
    takt_stats_write(w, &p->timing.stats, 1e-6);
    takt_json_close(w, '}');
    takt_json_put_integer(w, "threads", p->plan->threads);
    takt_report_config(r, p->plan);
    takt_json_put_unsigned(w, "profiled_runs", p->runs);
    takt_json_put_number(w, "profiled_run_us", p->run_ns * 1e-3);
    takt_json_put_unsigned(w, "moved_buffers", p->moves);
    takt_json_put_number(w, "moves_us", p->moves_ns * 1e-3);
    takt_json_put_number(w, "steps_us", p->watched_ns * 1e-3);
    takt_json_put_string(w, "source", "measured");
    if (p->has_ceilings) {
        takt_json_put_open(w, "ceilings", '{');
        takt_ceilings_write(w, &p->ceilings);
        takt_json_close(w, '}');
    }
    takt_json_put_open(w, "per_op", '[');
    for (size_t i = 0; i < p->plan->step_count; i++)
        row_json(w, p, &p->rows[i]);
    takt_json_close(w, ']');
}

/* ---- the table ---- */

/* The step's rate for the resource that bounds it. */
static void rate_cell(takt_table *t, const takt_profile_row *row)
{
    char rate[FIGURE];
    const double ns = fmax(row->median_ns, 1);
    if (row->limit != TAKT_BOUND_UNKNOWN && row->limit != TAKT_BOUND_COMPUTE)
        takt_table_cell(t, "%s", takt_figure_scaled(row->roof.bytes / ns * 1e9, "B/s", rate));
    else
        takt_table_cell(t, "%s", takt_figure_scaled(row->roof.flops / ns * 1e9, "FLOP/s", rate));
}

static void table_row(takt_table *t, const takt_profile *p, const takt_profile_row *row)
{
    char a[FIGURE], b[FIGURE];
    takt_table_cell(t, "%s", row->step->name);
    takt_table_cell(t, "%s", row->step->kernel != NULL ? row->step->kernel : "generic");
    takt_table_cell(t, "%s", takt_figure_time(row->median_ns, a));
    takt_table_cell(t, "+-%s", takt_figure_time((row->ci.high - row->ci.low) / 2, b));
    takt_table_cell(t, "%.1f %%", 100 * row->share);
    rate_cell(t, row);
    if (p->has_ceilings) {
        takt_table_cell(t, "%s", row->bound);
        takt_table_cell(t, "%.0f %%", row->percent);
    }
}

static void table_head(takt_table *t, const takt_profile *p)
{
    static const char *const names[] = {"step",  "kernel", "time",  "",
                                        "share", "rate",   "bound", "of ceiling"};
    for (size_t i = 0; i < (p->has_ceilings ? 8 : 6); i++)
        takt_table_cell(t, "%s", names[i]);
    takt_table_rule(t);
}

static void table(const takt_profile *p, size_t top, takt_report *r)
{
    const size_t steps = p->plan->step_count;
    takt_table t;
    takt_table_init(&t, p->ctx, p->has_ceilings ? "llrrrrlr" : "llrrrr");
    const void **order = takt_arena_array(&t.arena, steps, sizeof *order);
    if (order == NULL) {
        r->text.status = TAKT_ERR_MEMORY;
    } else {
        for (size_t i = 0; i < steps; i++)
            order[i] = &p->rows[i];
        takt_sort_pointers(order, steps, is_slower);
        table_head(&t, p);
        for (size_t i = 0; i < steps && (top == 0 || i < top); i++)
            table_row(&t, p, order[i]);
        takt_table_print(&t, &r->text);
        if (t.status != TAKT_OK)
            r->text.status = t.status;
        if (top > 0 && steps > top)
            takt_text_add(&r->text, "  and %zu more\n", steps - top);
    }
    takt_table_deinit(&t);
}

static void sums(const takt_profile *p, takt_text *text)
{
    char a[FIGURE], b[FIGURE], c[FIGURE], d[FIGURE];
    takt_text_add(text, "\n%zu step%s%s of a profiled run's %s; %s and %s a run\n",
                  p->plan->step_count, p->plan->step_count == 1 ? " takes " : "s take ",
                  takt_figure_time(p->watched_ns, a), takt_figure_time(p->run_ns, b),
                  takt_figure_scaled(total(p, true), "FLOP", c),
                  takt_figure_scaled(total(p, false), "B", d));
    if (p->has_ceilings)
        takt_text_add(text, "roofline minimum %s; this run reaches %.0f %% of it\n",
                      takt_figure_time(floor_of(p), a),
                      100 * floor_of(p) / fmax(p->timing.stats.median, 1));
}

static void moves(const takt_profile *p, takt_text *text)
{
    char a[FIGURE];
    if (p->moves > 0)
        takt_text_add(
            text,
            "move: %zu bound buffer%s (%s) %s not dense, row-major and aligned: copied in "
            "every run, %s\n",
            p->moves, p->moves == 1 ? "" : "s", p->move_names, p->moves == 1 ? "is" : "are",
            takt_figure_time(p->moves_ns, a));
}

void takt_profile_steps(const takt_profile *p, size_t top, takt_report *r)
{
    if (r->is_json) {
        steps_json(p, r);
        takt_profile_phases(p, r);
        takt_profile_advice(p, r);
        return;
    }
    headline(p, r);
    takt_text_add(&r->text, "\n");
    table(p, top, r);
    moves(p, &r->text);
    sums(p, &r->text);
    takt_profile_phases(p, r);
    takt_profile_advice(p, r);
}

void takt_profile_brief(const takt_profile *p, takt_report *r)
{
    if (r->is_json) {
        steps_json(p, r);
        return;
    }
    char a[FIGURE], b[FIGURE];
    headline(p, r);
    const double ns = fmax(p->timing.stats.median, 1), flops = total(p, true);
    takt_text_add(&r->text, "%s", takt_figure_scaled(flops / ns * 1e9, "FLOP/s", a));
    if (p->has_ceilings)
        takt_text_add(&r->text, ": %.0f %% of what this machine could reach here (%s a run)",
                      100 * floor_of(p) / ns, takt_figure_time(floor_of(p), b));
    takt_text_add(&r->text, "\n");
    takt_profile_phases(p, r);
}

/* ---- layers ---- */

typedef struct layer_sum {
    const char *name, *type; /* as written: "dense_0", "dense" */
    const char *kind;        /* of the most expensive step */
    takt_text steps;         /* "gemm h: matmul+add+relu, rows ..." */
    double ns, top_ns;
} layer_sum;

/* The layer call that the step's first node comes from; otherwise the node's own name and kind. */
static void layer_of(const takt_profile *p, const takt_step *step, layer_sum *to)
{
    const takt_node *n = step->node_count > 0 ? takt_node_at(p->plan->graph, step->nodes[0]) : NULL;
    to->name = step->name;
    to->type = step->kind;
    for (const takt_origin *o = n != NULL ? n->origin : NULL; o != NULL; o = o->next)
        if (o->layer != NULL && o->name != NULL) {
            to->name = o->name;
            to->type = o->layer;
            return;
        }
}

static size_t sum_layers(const takt_profile *p, layer_sum *layers)
{
    size_t count = 0;
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_profile_row *row = &p->rows[i];
        layer_sum new = {.top_ns = -1};
        layer_of(p, row->step, &new);
        size_t at = 0;
        while (at < count && strcmp(layers[at].name, new.name) != 0)
            at++;
        if (at == count) {
            layers[count++] = new;
            takt_text_init(&layers[at].steps, p->ctx);
        }
        layers[at].ns += row->median_ns;
        takt_text_add(&layers[at].steps, "%s%s %s", layers[at].steps.length > 0 ? ", " : "",
                      row->step->kind, row->step->name);
        if (row->median_ns > layers[at].top_ns) {
            layers[at].top_ns = row->median_ns;
            layers[at].kind = row->step->kind;
        }
    }
    return count;
}

/* "Dense": layer names as usually written in prose. */
static void add_type(takt_text *text, const char *type)
{
    const char first = type[0] >= 'a' && type[0] <= 'z' ? (char)(type[0] - 32) : type[0];
    takt_text_add(text, "%c%s", first, type[0] != '\0' ? type + 1 : "");
}

void takt_profile_layers(const takt_profile *p, takt_report *r)
{
    takt_arena arena;
    takt_arena_init(&arena, p->ctx);
    layer_sum *layers = takt_arena_array(&arena, p->plan->step_count, sizeof *layers);
    const size_t count = layers != NULL ? sum_layers(p, layers) : 0;
    r->text.status = layers != NULL ? r->text.status : TAKT_ERR_MEMORY;
    if (r->is_json) {
        takt_json_put_open(&r->json, "layers", '[');
    }
    for (size_t i = 0; i < count; i++) {
        if (!r->is_json) {
            takt_text_add(&r->text, "Layer %zu (", i + 1);
            add_type(&r->text, layers[i].type);
            takt_text_add(&r->text, "): %.4gms  %s: %s\n", layers[i].ns * 1e-6, layers[i].name,
                          takt_text_get(&layers[i].steps));
            continue;
        }
        takt_json_open(&r->json, '{');
        takt_json_put_string(&r->json, "name", layers[i].name);
        takt_json_put_string(&r->json, "layer", layers[i].type);
        takt_json_put_string(&r->json, "type", layers[i].kind);
        takt_json_put_string(&r->json, "steps", takt_text_get(&layers[i].steps));
        takt_json_put_number(&r->json, "time_ms", layers[i].ns * 1e-6);
        takt_json_close(&r->json, '}');
    }
    if (r->is_json) {
        takt_json_close(&r->json, ']');
        takt_json_put_number(&r->json, "total_ms", p->steps_ns * 1e-6);
    } else {
        takt_text_add(&r->text, "Total: %.4gms\n", p->steps_ns * 1e-6);
    }
    for (size_t i = 0; i < count; i++) {
        r->text.status = r->text.status != TAKT_OK ? r->text.status : layers[i].steps.status;
        takt_text_deinit(&layers[i].steps);
    }
    takt_arena_deinit(&arena);
}

void takt_profile_summarize(const takt_profile *p, takt_profile_summary *summary)
{
    if (summary == NULL)
        return;
    *summary = (takt_profile_summary){.flops = 0};
    if (p == NULL)
        return;
    *summary = (takt_profile_summary){.latency = p->timing.stats,
                                      .floor_ns = p->has_ceilings ? floor_of(p) : 0,
                                      .flops = total(p, true),
                                      .bytes = total(p, false)};
}
