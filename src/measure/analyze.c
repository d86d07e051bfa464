/* analyze.c - what a result says, and what several say over time. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "measure/bench.h"
#include "measure/png.h"
#include "measure/stats.h"

/* ---- one result ---- */

static bool is_slower(const void *a, const void *b)
{
    const takt_bench_op *x = a, *y = b;
    return x->time_us != y->time_us ? x->time_us > y->time_us : x < y;
}

static void bottlenecks(const takt_bench *b, const takt_bench_row *r, takt_text *text)
{
    takt_arena arena;
    double seen = 0;
    takt_arena_init(&arena, b->ctx);
    const void **order = takt_arena_array(&arena, r->op_count, sizeof *order);
    for (size_t i = 0; order != NULL && i < r->op_count; i++)
        order[i] = &r->ops[i];
    if (order != NULL)
        takt_sort_pointers(order, r->op_count, is_slower);
    for (size_t i = 0; order != NULL && i < r->op_count && seen < 0.8; i++) {
        const takt_bench_op *op = order[i];
        takt_text_add(text, "- %s: %.1f %% of the time", op->name, 100 * op->share);
        if (op->bound != NULL)
            takt_text_add(text, ", bound by %s at %.0f %% of the ceiling; at most %.1f %% to gain",
                          op->bound, op->percent, 100 * op->share * fmax(0, 1 - op->percent / 100));
        takt_text_add(text, "\n");
        seen += op->share;
    }
    takt_arena_deinit(&arena);
}

static void findings(const takt_bench_row *r, takt_text *text)
{
    const takt_stats *s = &r->timing.stats;
    takt_text_add(text, "\nbatch %lld, %d thread%s: median %.4g ms (95 %% interval %.4g to %.4g)\n",
                  (long long)r->batch, r->threads, r->threads == 1 ? "" : "s", s->median * 1e-6,
                  s->median_ci.low * 1e-6, s->median_ci.high * 1e-6);
    if (s->percentiles[3].value > 1.5 * s->median)
        takt_text_add(text, "- the slowest runs take %.1f times the median%s: something else ran\n",
                      s->percentiles[3].value / fmax(s->median, 1e-9),
                      s->percentiles[3].resolved ? "" : " (too few runs for a sure p99)");
    if (s->count > 0 && (s->mild + s->severe) * 20 > s->count)
        takt_text_add(text, "- %zu of %zu runs are outliers: trust the median, not the mean\n",
                      s->mild + s->severe, s->count);
    if (r->timing.first_ns > 3 * s->median && s->median > 0)
        takt_text_add(text, "- the first run takes %.1f times the median: warm up before serving\n",
                      r->timing.first_ns / s->median);
    if (r->allocations > 0)
        takt_text_add(text, "- %llu allocations in a run\n", (unsigned long long)r->allocations);
    if (!r->timing.is_complete)
        takt_text_add(text, "- the measurement was broken off\n");
}

static takt_status deliver(takt_ctx *ctx, takt_text *text, takt_sink_fn *sink, void *user)
{
    takt_status status = text->status;
    if (status == TAKT_OK && sink(user, takt_text_get(text), text->length) != 0)
        status = takt_fail(ctx, TAKT_E_FILE_WRITE, "the reader of a report refused it");
    takt_text_deinit(text);
    return status;
}

takt_status takt_bench_analyze(const takt_bench *b, takt_format format, takt_sink_fn *sink,
                               void *user)
{
    takt_text text;
    if (format == TAKT_FORMAT_JSON)
        return takt_bench_write(b, TAKT_BENCH_JSON, sink, user);
    TAKT_TRY(takt_bench_write(b, TAKT_BENCH_TEXT, sink, user));
    takt_text_init(&text, b->ctx);
    for (size_t i = 0; i < b->count; i++) {
        findings(&b->rows[i], &text);
        bottlenecks(b, &b->rows[i], &text);
    }
    return deliver(b->ctx, &text, sink, user);
}

/* ---- several ---- */

static const takt_stats *stats_of(const takt_bench *b, bool throughput)
{
    static const takt_stats none = {0};
    if (b->count == 0)
        return &none;
    return throughput ? &b->rows[0].throughput : &b->rows[0].timing.stats;
}

static takt_status check(takt_ctx *ctx, const takt_trend *t)
{
    if (t->count < 2)
        return takt_fail(ctx, TAKT_E_RESULT_MIX, "%zu result%s make no trend", t->count,
                         t->count == 1 ? "" : "s");
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

static void points_of(const takt_trend *t, takt_plot_point *points)
{
    const double scale = t->throughput ? 1 : 1e-6;
    for (size_t i = 0; i < t->count; i++) {
        const takt_stats *s = stats_of(t->benches[i], t->throughput);
        points[i] = (takt_plot_point){.x = (double)i + 1,
                                      .y = s->median * scale,
                                      .low = s->median_ci.low * scale,
                                      .high = s->median_ci.high * scale,
                                      .name = takt_bench_time(t->benches[i])};
    }
}

static void trend_json(takt_text *text, const takt_trend *t, const takt_plot *plot)
{
    takt_json_writer w;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_key(&w, "schema");
    takt_json_string(&w, "takt-trend/1");
    takt_json_key(&w, "metric");
    takt_json_string(&w, t->throughput ? "throughput" : "latency");
    takt_json_key(&w, "step_at");
    takt_json_unsigned(&w, plot->step);
    takt_json_key(&w, "points");
    takt_json_open(&w, '[');
    for (size_t i = 0; i < t->count; i++) {
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

static void trend_text(takt_text *text, const takt_trend *t, const takt_plot *plot)
{
    const char *unit = t->throughput ? "samples/s" : "ms";
    for (size_t i = 0; i < t->count; i++)
        takt_text_add(text, "%s%-22s %10.5g %s  (%.5g to %.5g)\n",
                      plot->step == i && i > 0 ? "----\n" : "", plot->points[i].name,
                      plot->points[i].y, unit, plot->points[i].low, plot->points[i].high);
    if (plot->step > 0)
        takt_text_add(text, "a step of %+.1f %% before result %zu\n",
                      100 * (plot->points[plot->step].y / plot->points[plot->step - 1].y - 1),
                      plot->step + 1);
    else
        takt_text_add(text, "no step\n");
}

static void trend_html(takt_text *text, const takt_plot *plot)
{
    takt_text_add(text, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                        "<meta name=\"viewport\" content=\"width=device-width\">"
                        "<title>Trend - Takt</title>\n<style>\n");
    takt_html_style(text);
    takt_text_add(text, "</style></head><body>\n<h1>Trend</h1>\n<p>%s</p>\n",
                  plot->step > 0 ? "There is a step." : "There is no step.");
    takt_plot_points(text, plot);
    takt_text_add(text, "</body></html>\n");
}

takt_status takt_bench_trend(takt_ctx *ctx, const takt_trend *t, takt_sink_fn *sink, void *user,
                             size_t *step)
{
    takt_text text;
    void *block;
    *step = 0;
    TAKT_TRY(check(ctx, t));
    const size_t bytes = t->count * (sizeof(takt_plot_point) + 2 * sizeof(double));
    TAKT_TRY(takt_mem_get(ctx, bytes, "a trend", &block));
    takt_plot_point *points = block;
    double *values = (double *)(points + t->count);
    points_of(t, points);
    for (size_t i = 0; i < t->count; i++)
        values[i] = points[i].y;
    *step = takt_step_index(values, t->count, values + t->count);
    const takt_plot plot = {.title = t->throughput ? "Throughput" : "Latency",
                            .x_label = "result",
                            .y_label = t->throughput ? "samples/s" : "ms",
                            .joined = true,
                            .points = points,
                            .count = t->count,
                            .step = *step};
    takt_text_init(&text, ctx);
    if (t->format == TAKT_BENCH_JSON)
        trend_json(&text, t, &plot);
    else if (t->format == TAKT_BENCH_PNG)
        text.status = takt_plot_png(&text, &plot);
    else if (t->format == TAKT_BENCH_HTML)
        trend_html(&text, &plot);
    else
        trend_text(&text, t, &plot);
    const takt_status status = deliver(ctx, &text, sink, user);
    takt_mem_put(ctx, block, bytes);
    return status;
}
