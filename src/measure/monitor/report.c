/* report.c - what a monitor saw: a table, JSON, or a page with curves. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "io/read.h"
#include "measure/monitor/monitor.h"
#include "measure/plot.h"
#include "measure/session/measure.h"

enum { FIGURE = TAKT_FIGURE_TEXT };

static void metrics_json(takt_json_writer *w, const takt_metrics *x)
{
    takt_json_open(w, '{');
    takt_json_put_number(w, "from_s", x->from_s);
    takt_json_put_number(w, "to_s", x->to_s);
    takt_json_put_number(w, "runs", (double)x->runs);
    takt_json_put_number(w, "failures", (double)x->failures);
    takt_json_put_number(w, "throughput", x->throughput);
    takt_json_put_number(w, "mean_ms", x->mean_ns * 1e-6);
    takt_json_put_number(w, "min_ms", x->min_ns * 1e-6);
    takt_json_put_number(w, "max_ms", x->max_ns * 1e-6);
    takt_json_put_number(w, "p50_ms", x->p50_ns * 1e-6);
    takt_json_put_number(w, "p95_ms", x->p95_ns * 1e-6);
    takt_json_put_number(w, "p99_ms", x->p99_ns * 1e-6);
    takt_json_put_number(w, "cpu_pct", x->cpu_pct);
    takt_json_put_number(w, "memory_bytes", (double)x->memory_bytes);
    takt_json_put_number(w, "peak_bytes", (double)x->peak_bytes);
    takt_json_put_number(w, "resident_bytes", (double)x->resident_bytes);
    if (x->has_cache)
        takt_json_put_number(w, "cache_hit_pct", x->cache_hit_pct);
    takt_json_close(w, '}');
}

static void write_json(const takt_monitor *m, takt_text *text)
{
    takt_json_writer w;
    takt_metrics x;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "schema", "takt-monitor/1");
    takt_json_put_number(&w, "interval_ms", m->options.interval_ms);
    if (m->options.track_cache) {
        takt_json_put_string(&w, "cache", m->reads >= 0 ? "measured" : m->cache_reason);
    }
    takt_json_key(&w, "whole");
    takt_monitor_metrics(m, &x);
    metrics_json(&w, &x);
    takt_json_put_open(&w, "samples", '[');
    for (size_t i = 0; takt_monitor_get(m, i, &x); i++)
        metrics_json(&w, &x);
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    takt_text_put(text, "\n", 1);
}

/* ---- for people ---- */

static void row(takt_table *t, const char *name, const takt_metrics *x)
{
    char a[FIGURE];
    if (name != NULL)
        takt_table_cell(t, "%s", name);
    else
        takt_table_cell(t, "%.1f s", x->to_s);
    takt_table_cell(t, "%llu", (unsigned long long)x->runs);
    takt_table_cell(t, "%.1f/s", x->throughput);
    takt_table_cell(t, "%s", takt_figure_time(x->p50_ns, a));
    takt_table_cell(t, "%s", takt_figure_time(x->p95_ns, a));
    takt_table_cell(t, "%s", takt_figure_time(x->p99_ns, a));
    takt_table_cell(t, "%.0f %%", x->cpu_pct);
    takt_table_cell(t, "%s", takt_figure_bytes(x->memory_bytes, a));
}

static void write_table(const takt_monitor *m, takt_text *text)
{
    static const char *const head[] = {"until", "runs", "rate", "p50",
                                       "p95",   "p99",  "cpu",  "memory"};
    takt_table t;
    takt_metrics x;
    char a[FIGURE], b[FIGURE];
    takt_table_init(&t, m->ctx, "rrrrrrrr");
    for (size_t i = 0; i < 8; i++)
        takt_table_cell(&t, "%s", head[i]);
    takt_table_rule(&t);
    for (size_t i = 0; takt_monitor_get(m, i, &x); i++)
        row(&t, NULL, &x);
    takt_monitor_metrics(m, &x);
    takt_table_rule(&t);
    row(&t, "whole", &x);
    takt_table_print(&t, text);
    text->status = t.status != TAKT_OK ? t.status : text->status;
    takt_table_deinit(&t);
    takt_text_add(text, "peak memory %s, resident %s, %llu failures\n",
                  takt_figure_bytes(x.peak_bytes, a), takt_figure_bytes(x.resident_bytes, b),
                  (unsigned long long)x.failures);
    if (x.has_cache)
        takt_text_add(text, "cache hits %.1f %% (measured)\n", x.cache_hit_pct);
    else if (m->options.track_cache)
        takt_text_add(text, "cache hits unavailable: %s\n",
                      m->reads >= 0 ? "nothing was counted" : m->cache_reason);
}

typedef double pick_fn(const takt_metrics *x);

static double pick_p50(const takt_metrics *x)
{
    return x->p50_ns * 1e-6;
}

static double pick_p99(const takt_metrics *x)
{
    return x->p99_ns * 1e-6;
}

static double pick_rate(const takt_metrics *x)
{
    return x->throughput;
}

static double pick_cpu(const takt_metrics *x)
{
    return x->cpu_pct;
}

static double pick_memory(const takt_metrics *x)
{
    return (double)x->memory_bytes * 1e-6;
}

/* One or two curves over time; two have names, and may have very different scales. */
static void curve(const takt_monitor *m, takt_text *text, const char *title, pick_fn *one,
                  pick_fn *two)
{
    void *block;
    const size_t room = 2 * (takt_monitor_count(m) + 1);
    const size_t bytes = room * sizeof(takt_plot_point);
    takt_plot plot = {.title = title, .x_label = "s", .y_label = "", .joined = true};
    takt_metrics x;
    if (takt_mem_zero(m->ctx, room, sizeof(takt_plot_point), "plot", &block) != TAKT_OK) {
        text->status = TAKT_ERR_MEMORY;
        return;
    }
    takt_plot_point *points = block;
    for (int series = 0; series < (two != NULL ? 2 : 1); series++)
        for (size_t i = 0; i < room / 2 && takt_monitor_get(m, i, &x); i++) {
            const double y = series == 0 ? one(&x) : two(&x);
            points[plot.count++] =
                (takt_plot_point){.x = x.to_s, .y = y, .low = y, .high = y, .series = series};
            points[plot.count - 1].name = two == NULL ? "" : series == 0 ? "p50" : "p99";
        }
    plot.points = points;
    plot.y_log = two != NULL;
    for (size_t i = 0; i < plot.count; i++)
        plot.y_log = plot.y_log && points[i].y > 0;
    if (plot.count > 0)
        takt_plot_points(text, &plot);
    takt_mem_put(m->ctx, block, bytes);
}

static void card(takt_text *text, const char *what, const char *figure, const char *more)
{
    takt_text_add(text, "<div class=\"card\"><span>%s</span><b>%s</b><span>%s</span></div>\n", what,
                  figure, more);
}

static void cards(const takt_monitor *m, takt_text *text)
{
    char a[FIGURE], b[FIGURE + 24];
    takt_metrics x;
    takt_monitor_metrics(m, &x);
    takt_text_add(text, "<p>%llu runs in %.4g s, %llu of them failed</p>\n<div class=\"cards\">\n",
                  (unsigned long long)x.runs, x.to_s - x.from_s, (unsigned long long)x.failures);
    snprintf(b, sizeof b, "mean %s", takt_figure_time(x.mean_ns, a));
    card(text, "p50", takt_figure_time(x.p50_ns, a), b);
    snprintf(b, sizeof b, "p95 %s", takt_figure_time(x.p95_ns, a));
    card(text, "p99", takt_figure_time(x.p99_ns, a), b);
    snprintf(a, sizeof a, "%.5g", x.throughput);
    card(text, "throughput", a, "runs a second");
    snprintf(a, sizeof a, "%.3g %%", x.cpu_pct);
    card(text, "processors", a, "of those that it may use");
    snprintf(b, sizeof b, "resident %s", takt_figure_bytes(x.resident_bytes, a));
    card(text, "peak memory", takt_figure_bytes(x.peak_bytes, a), b);
    if (m->options.track_cache) {
        snprintf(a, sizeof a, "%.3g %%", x.cache_hit_pct);
        card(text, "cache hits", x.has_cache ? a : "unavailable", x.has_cache ? "measured" : "");
    }
    takt_text_add(text, "</div>\n");
}

static void write_page(const takt_monitor *m, takt_text *text)
{
    takt_text table;
    takt_text_init(&table, m->ctx);
    write_table(m, &table);
    takt_html_begin(text, "Monitor", "");
    takt_text_add(text, "<h1>Monitor</h1>\n");
    cards(m, text);
    takt_text_add(text, "<div class=\"plots\">\n");
    curve(m, text, "p50 and p99 in ms", pick_p50, pick_p99);
    curve(m, text, "runs a second", pick_rate, NULL);
    curve(m, text, "processors in %", pick_cpu, NULL);
    curve(m, text, "memory in MB", pick_memory, NULL);
    takt_text_add(text, "</div>\n<details><summary>every interval</summary><pre>");
    takt_html_text(text, takt_text_get(&table));
    takt_text_add(text, "</pre></details>\n"
                        "<script type=\"application/json\" id=\"takt-monitor\">\n");
    write_json(m, text);
    takt_text_add(text, "</script>\n</body></html>\n");
    text->status = table.status != TAKT_OK ? table.status : text->status;
    takt_text_deinit(&table);
}

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), k = strlen(ending);
    return n >= k && strcmp(path + n - k, ending) == 0;
}

takt_status takt_monitor_report(const takt_monitor *m, const char *path)
{
    TAKT_NEED(NULL, m);
    takt_text text;
    takt_text_init(&text, m->ctx);
    if (ends_in(path, ".json"))
        write_json(m, &text);
    else if (ends_in(path, ".html"))
        write_page(m, &text);
    else
        write_table(m, &text);
    const takt_status status = takt_write_text(m->ctx, path, &text);
    takt_text_deinit(&text);
    return status;
}
