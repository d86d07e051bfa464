/* trend.c - one metric of several results in order, and the step between them. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "measure/bench.h"
#include "measure/plot.h"
#include "measure/png.h"
#include "measure/stats.h"

/* A value with its interval; low and high are the value itself where none is known. */
typedef struct sample {
    double value, low, high;
} sample;

typedef bool sample_fn(const takt_bench_row *r, sample *s);

static bool of_stats(const takt_stats *from, double scale, sample *s)
{
    *s = (sample){from->median * scale, from->median_ci.low * scale, from->median_ci.high * scale};
    return from->count > 0;
}

static bool plain(double value, double scale, sample *s)
{
    *s = (sample){value * scale, value * scale, value * scale};
    return value > 0 && isfinite(value);
}

static bool percentile(const takt_bench_row *r, int index, sample *s)
{
    const takt_percentile *p = &r->timing.stats.percentiles[index];
    *s = (sample){p->value * 1e-6, p->ci.low * 1e-6, p->ci.high * 1e-6};
    return r->timing.stats.count > 0;
}

static bool latency(const takt_bench_row *r, sample *s)
{
    return of_stats(&r->timing.stats, 1e-6, s);
}

static bool mean(const takt_bench_row *r, sample *s)
{
    const takt_stats *t = &r->timing.stats;
    *s = (sample){t->mean * 1e-6, t->mean_ci.low * 1e-6, t->mean_ci.high * 1e-6};
    return t->count > 0;
}

static bool p90(const takt_bench_row *r, sample *s)
{
    return percentile(r, 1, s);
}

static bool p95(const takt_bench_row *r, sample *s)
{
    return percentile(r, 2, s);
}

static bool p99(const takt_bench_row *r, sample *s)
{
    return percentile(r, 3, s);
}

static bool throughput(const takt_bench_row *r, sample *s)
{
    return of_stats(&r->throughput, 1, s) || plain(takt_bench_rate(r), 1, s);
}

static bool memory(const takt_bench_row *r, sample *s)
{
    return plain((double)r->planned_peak, 1e-6, s);
}

static bool load(const takt_bench_row *r, sample *s)
{
    return plain(r->load_ns, 1e-6, s);
}

static bool plan(const takt_bench_row *r, sample *s)
{
    return plain(r->plan_ns, 1e-6, s);
}

static bool first(const takt_bench_row *r, sample *s)
{
    return plain(r->timing.first_ns, 1e-6, s);
}

static bool cpu(const takt_bench_row *r, sample *s)
{
    return plain(r->more.cpu_pct, 1, s);
}

static bool energy(const takt_bench_row *r, sample *s)
{
    return plain(r->more.joules, 1, s);
}

static bool instructions(const takt_bench_row *r, sample *s)
{
    return plain(r->more.events, 1, s);
}

typedef struct metric {
    const char *name, *title, *unit;
    sample_fn *of;
} metric;

static const metric metrics[] = {
    {"latency", "Latency", "ms", latency},
    {"mean", "Mean latency", "ms", mean},
    {"p90", "p90", "ms", p90},
    {"p95", "p95", "ms", p95},
    {"p99", "p99", "ms", p99},
    {"throughput", "Throughput", "samples/s", throughput},
    {"memory", "Peak memory", "MB", memory},
    {"memory_usage", "Peak memory", "MB", memory},
    {"load", "Loading the model", "ms", load},
    {"plan", "Making the plan", "ms", plan},
    {"first", "First run", "ms", first},
    {"cpu", "Processors in use", "%", cpu},
    {"energy", "Energy", "J a run", energy},
    {"instructions", "Instructions", "a run", instructions},
};

static takt_status find(takt_ctx *ctx, const char *name, const metric **found)
{
    *found = &metrics[0];
    for (size_t i = 0; name != NULL && i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(metrics[i].name, name) == 0) {
            *found = &metrics[i];
            return TAKT_OK;
        }
    if (name == NULL)
        return TAKT_OK;
    takt_fail(ctx, TAKT_E_OPTION, "there is no metric %s", name);
    return takt_fail_hint(ctx, "there are latency, mean, p90, p95, p99, throughput, memory, load, "
                               "plan, first, cpu, energy and instructions");
}

static takt_status check(takt_ctx *ctx, const takt_trend *t)
{
    if (t->count < 2)
        return takt_fail(ctx, TAKT_E_RESULT_MIX, "%zu result%s no trend", t->count,
                         t->count == 1 ? " makes" : "s make");
    for (size_t i = 1; i < t->count; i++) {
        const char *a = takt_bench_fingerprint(t->benches[0]);
        const char *b = takt_bench_fingerprint(t->benches[i]);
        if (strcmp(a, b) != 0) {
            takt_fail(ctx, TAKT_E_RESULT_MIX, "result %zu is of machine %s, the first of %s", i + 1,
                      b[0] != '\0' ? b : "unknown", a[0] != '\0' ? a : "unknown");
            return takt_fail_hint(ctx, "give the results of one machine");
        }
    }
    return TAKT_OK;
}

static takt_status points_of(takt_ctx *ctx, const takt_trend *t, const metric *m,
                             takt_plot_point *points)
{
    for (size_t i = 0; i < t->count; i++) {
        const takt_bench *b = t->benches[i];
        sample s = {0};
        if (b->count == 0 || !m->of(&b->rows[0], &s)) {
            takt_fail(ctx, TAKT_E_RESULT_MIX, "result %zu, of %s, holds no %s", i + 1,
                      takt_bench_time(b), m->name);
            return takt_fail_hint(ctx, "measure it with takt benchmark run --metrics or --counter");
        }
        points[i] = (takt_plot_point){.x = (double)i + 1,
                                      .y = s.value,
                                      .low = s.low,
                                      .high = s.high,
                                      .name = takt_bench_time(b)};
    }
    return TAKT_OK;
}

static void write_json(takt_text *text, const metric *m, const takt_plot *plot)
{
    takt_json_writer w;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_key(&w, "schema");
    takt_json_string(&w, "takt-trend/1");
    takt_json_key(&w, "metric");
    takt_json_string(&w, m->name);
    takt_json_key(&w, "unit");
    takt_json_string(&w, m->unit);
    takt_json_key(&w, "step_at");
    takt_json_unsigned(&w, plot->step);
    takt_json_key(&w, "points");
    takt_json_open(&w, '[');
    for (size_t i = 0; i < plot->count; i++) {
        takt_json_open(&w, '{');
        takt_json_key(&w, "timestamp");
        takt_json_string(&w, plot->points[i].name);
        takt_json_key(&w, "median");
        takt_json_number(&w, plot->points[i].y);
        takt_json_key(&w, "low");
        takt_json_number(&w, plot->points[i].low);
        takt_json_key(&w, "high");
        takt_json_number(&w, plot->points[i].high);
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    takt_text_put(text, "\n", 1);
}

static void say_step(takt_text *text, const takt_plot *plot)
{
    if (plot->step > 0)
        takt_text_add(text, "a step of %+.1f %% before result %zu",
                      100 * (plot->points[plot->step].y / plot->points[plot->step - 1].y - 1),
                      plot->step + 1);
    else
        takt_text_add(text, "no step");
}

static void write_text(takt_text *text, const takt_plot *plot)
{
    for (size_t i = 0; i < plot->count; i++)
        takt_text_add(text, "%s%-22s %10.6g %s  (%.6g to %.6g)\n",
                      plot->step == i && i > 0 ? "----\n" : "", plot->points[i].name,
                      plot->points[i].y, plot->y_label, plot->points[i].low, plot->points[i].high);
    say_step(text, plot);
    takt_text_add(text, "\n");
}

static void write_html(takt_text *text, const takt_trend *t, const takt_plot *plot)
{
    takt_text_add(text, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width\">"
                        "<title>Trend - Takt</title>\n<style>\n");
    takt_html_style(text);
    takt_text_add(text, "</style></head><body>\n<h1>%s of ", plot->title);
    takt_html_text(text, t->benches[0]->model);
    takt_text_add(text, "</h1>\n<p>%zu results: ", plot->count);
    say_step(text, plot);
    takt_text_add(text, "</p>\n<div class=\"plots\">\n");
    takt_plot_points(text, plot);
    takt_text_add(text,
                  "</div>\n<table><tr><th>result</th><th>%s</th><th>95&nbsp;%% interval</th>"
                  "<th>against the one before</th></tr>\n",
                  plot->y_label);
    for (size_t i = 0; i < plot->count; i++) {
        const takt_plot_point *p = &plot->points[i];
        takt_text_add(text, "<tr%s><td>", plot->step == i && i > 0 ? " class=\"best\"" : "");
        takt_html_text(text, p->name);
        takt_text_add(text, "</td><td>%.6g</td><td>%.6g to %.6g</td><td>", p->y, p->low, p->high);
        if (i > 0)
            takt_text_add(text, "%+.1f&nbsp;%%", 100 * (p->y / p[-1].y - 1));
        takt_text_add(text, "</td></tr>\n");
    }
    takt_text_add(text, "</table>\n</body></html>\n");
}

static takt_status write_trend(takt_ctx *ctx, const takt_trend *t, const metric *m,
                               const takt_plot *plot, takt_sink_fn *sink, void *user)
{
    takt_text text;
    takt_text_init(&text, ctx);
    if (t->format == TAKT_BENCH_JSON)
        write_json(&text, m, plot);
    else if (t->format == TAKT_BENCH_PNG)
        text.status = takt_plot_png(&text, plot);
    else if (t->format == TAKT_BENCH_HTML)
        write_html(&text, t, plot);
    else
        write_text(&text, plot);
    takt_status status = text.status;
    if (status == TAKT_OK && sink(user, takt_text_get(&text), text.length) != 0)
        status = takt_fail(ctx, TAKT_E_FILE_WRITE, "the reader of a report refused it");
    takt_text_deinit(&text);
    return status;
}

takt_status takt_bench_trend(takt_ctx *ctx, const takt_trend *t, takt_sink_fn *sink, void *user,
                             size_t *step)
{
    const metric *m;
    void *block;
    *step = 0;
    TAKT_TRY(find(ctx, t->metric, &m));
    TAKT_TRY(check(ctx, t));
    const size_t bytes = t->count * (sizeof(takt_plot_point) + 2 * sizeof(double));
    TAKT_TRY(takt_mem_get(ctx, bytes, "a trend", &block));
    takt_plot_point *points = block;
    double *values = (double *)(points + t->count);
    takt_status status = points_of(ctx, t, m, points);
    for (size_t i = 0; i < t->count && status == TAKT_OK; i++)
        values[i] = points[i].y;
    if (status == TAKT_OK) {
        *step = takt_step_index(values, t->count, values + t->count);
        const takt_plot plot = {.title = m->title,
                                .x_label = "result",
                                .y_label = m->unit,
                                .joined = true,
                                .points = points,
                                .count = t->count,
                                .step = *step};
        status = write_trend(ctx, t, m, &plot, sink, user);
    }
    takt_mem_put(ctx, block, bytes);
    return status;
}
