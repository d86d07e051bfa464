/* bench_text.c - the result of a benchmark for people. */
#include <math.h>
#include <string.h>

#include "measure/session/bench.h"
#include "measure/session/measure.h"

static void percentile_cell(takt_table *t, const takt_percentile *p)
{
    char a[TAKT_FIGURE_TEXT];
    takt_table_cell(t, "%s%s", p->resolved ? "" : ">= ", takt_figure_time(p->value, a));
}

/* "16.1 to 16.3 us": the unit once if it is the same. */
static void interval_cell(takt_table *t, takt_interval ci)
{
    char low[TAKT_FIGURE_TEXT], high[TAKT_FIGURE_TEXT];
    takt_figure_time(ci.low, low);
    takt_figure_time(ci.high, high);
    char *unit = strchr(low, ' ');
    if (unit != NULL && strchr(high, ' ') != NULL && strcmp(unit, strchr(high, ' ')) == 0)
        *unit = '\0';
    takt_table_cell(t, "%s to %s", low, high);
}

static const char *precision_of(const takt_bench_row *r)
{
    return r->config.precision != NULL ? r->config.precision : "f32";
}

/* Whether any weights are stored in a type other than f32. */
static bool has_precisions(const takt_bench *b)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(precision_of(&b->rows[i]), "f32") != 0)
            return true;
    return false;
}

static void print_row(takt_table *t, const takt_bench_row *r, bool with_precision)
{
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    const takt_stats *s = &r->timing.stats;
    takt_table_cell(t, "%lld", (long long)r->batch);
    takt_table_cell(t, "%d", r->threads);
    takt_table_cell(t, "%s", takt_figure_time(s->median, a));
    interval_cell(t, s->median_ci);
    percentile_cell(t, &s->percentiles[1]);
    percentile_cell(t, &s->percentiles[3]);
    takt_table_cell(t, "%s", takt_figure_scaled(takt_bench_rate(r), "samples/s", a));
    takt_table_cell(t, "%s", takt_figure_bytes(r->planned_peak, b));
    if (with_precision)
        takt_table_cell(t, "%s", precision_of(r));
}

/* Prints --type memory: the bytes that a run holds, allocates and moves. */
static void print_memory(const takt_bench *b, takt_text *text)
{
    char a[TAKT_FIGURE_TEXT], c[TAKT_FIGURE_TEXT], d[TAKT_FIGURE_TEXT];
    for (size_t i = 0; i < b->count; i++) {
        const takt_bench_row *r = &b->rows[i];
        double bytes = 0;
        for (size_t k = 0; k < r->op_count; k++)
            bytes += r->ops[k].bytes;
        takt_text_add(text,
                      "batch %lld, %d thread%s: peak %s, %s live on average, %llu allocations a "
                      "run; resident memory grew by %s\n",
                      (long long)r->batch, r->threads, r->threads == 1 ? "" : "s",
                      takt_figure_bytes(r->planned_peak, a),
                      takt_figure_bytes((uint64_t)r->live_mean, c),
                      (unsigned long long)r->allocations, takt_figure_bytes(r->rss_delta, d));
        if (bytes > 0)
            takt_text_add(
                text, "  a run moves %s, %s (from the plan, not counted)",
                takt_figure_bytes((uint64_t)bytes, a),
                takt_figure_scaled(bytes / fmax(1, r->timing.stats.median) * 1e9, "B/s", c));
        if (bytes > 0 && b->has_ceilings && !b->is_loaded)
            takt_text_add(
                text, "; all of it fits into %s",
                takt_level_names[takt_ceilings_level(&b->ceilings, (double)r->planned_peak)]);
        takt_text_add(text, "%s", bytes > 0 ? "\n" : "");
    }
    takt_text_add(text, "\n");
}

static void print_phases(const takt_bench *b, takt_text *text)
{
    char a[TAKT_FIGURE_TEXT], c[TAKT_FIGURE_TEXT], d[TAKT_FIGURE_TEXT], e[TAKT_FIGURE_TEXT];
    for (size_t i = 0; i < b->count; i++) {
        const takt_bench_row *r = &b->rows[i];
        takt_bench_label(text, r);
        takt_text_add(text,
                      ": load %s, plan %s, first run %s, %zu to warm up, "
                      "then %zu runs (%zu mild and %zu severe outliers); input copy %s%s\n",
                      takt_figure_time(r->load_ns, a), takt_figure_time(r->plan_ns, c),
                      takt_figure_time(r->timing.first_ns, d), r->timing.warmup_runs,
                      r->timing.stats.count, r->timing.stats.mild, r->timing.stats.severe,
                      takt_figure_time(r->timing.copy_ns, e),
                      r->timing.is_complete ? "" : "; INCOMPLETE");
        takt_bench_usage_text(text, b, r);
    }
}

static bool has_several_batches(const takt_bench *b)
{
    for (size_t i = 1; i < b->count; i++)
        if (b->rows[i].batch != b->rows[0].batch)
            return true;
    return false;
}

static void print_suggestion(const takt_bench *b, takt_text *text)
{
    takt_batch_suggestion s;
    char a[TAKT_FIGURE_TEXT];
    const takt_bench_row *best = &b->rows[takt_bench_best(b)];
    const bool has_slo = best->usage.slo.limit_ns > 0;
    if (!has_slo)
        takt_text_add(text, "most samples a second: batch %lld on %d thread%s%s%s\n",
                      (long long)best->batch, best->threads, best->threads == 1 ? "" : "s",
                      has_precisions(b) ? ", weights in " : "",
                      has_precisions(b) ? precision_of(best) : "");
    if (!has_several_batches(b) || takt_suggest_batch(b, NULL, &s) != TAKT_OK)
        return;
    if (has_slo && s.best > 0)
        takt_text_add(text, "best within the SLO: batch %lld on %d thread%s, %s\n",
                      (long long)s.best, s.threads, s.threads == 1 ? "" : "s",
                      takt_figure_scaled(s.best_rate, "samples/s", a));
    else if (has_slo)
        takt_text_add(text, "no batch size meets the SLO\n");
    takt_text_add(text,
                  "knee: batch %lld is the smallest with 90 %% of the most samples a second\n",
                  (long long)s.knee);
    takt_text_add(text,
                  "rule of thumb: batch %lld = max(1, min(memory / %s a sample, 2 * threads))\n",
                  (long long)s.formula, takt_figure_bytes((uint64_t)s.sample_bytes, a));
}

/* Printed before the figures, since it changes how to read them. */
static void print_incomplete(const takt_bench *b, takt_text *text)
{
    if (b->count < b->expected)
        takt_text_add(text, "INCOMPLETE: %zu of %zu cases were measured\n", b->count, b->expected);
    else if (takt_bench_is_incomplete(b))
        takt_text_add(text, "INCOMPLETE: the measurement was broken off\n");
}

takt_status takt_bench_text(const takt_bench *b, takt_text *text)
{
    static const char *const names[] = {"batch", "threads",    "median", "95 % interval", "p90",
                                        "p99",   "throughput", "memory", "weights"};
    const bool with_precision = has_precisions(b);
    takt_table t;
    takt_table_init(&t, b->ctx, with_precision ? "rrrrrrrrl" : "rrrrrrrr");
    for (size_t i = 0; i < (with_precision ? 9 : 8); i++)
        takt_table_cell(&t, "%s", names[i]);
    takt_table_rule(&t);
    for (size_t i = 0; i < b->count; i++)
        print_row(&t, &b->rows[i], with_precision);
    takt_text_add(text, "%s\n", b->model);
    print_incomplete(b, text);
    takt_table_print(&t, text);
    const takt_status status = t.status;
    takt_table_deinit(&t);
    takt_text_add(text, "\n");
    if (strcmp(b->type, "memory") == 0)
        print_memory(b, text);
    print_phases(b, text);
    if (takt_bench_has_noise(b))
        takt_text_add(text, "noise: grade %s; A/A shows differences of %.2f %%, ",
                      takt_bench_grade(b), takt_bench_noise_pct(b));
    else
        takt_text_add(text, "noise: grade unknown, there are too few runs; ");
    takt_text_add(text, "steal time %.2f %%", b->others.steal_pct);
    if (b->others.processors > 0.05)
        takt_text_add(text, ", others kept %.1f of %d processors busy", b->others.processors,
                      b->others.usable);
    takt_text_add(text, "\n");
    if (b->is_debug)
        takt_text_add(text, "NOT COMPARABLE: a debug build measured this; "
                            "cmake -DCMAKE_BUILD_TYPE=Release\n");
    if (b->count > 1)
        print_suggestion(b, text);
    return status;
}
