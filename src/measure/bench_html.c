/* bench_html.c - a result as one HTML file: cards, tables, plots, and the JSON inside, to be read
 * again. */
#include <math.h>
#include <string.h>

#include "measure/bench.h"
#include "measure/plot.h"

/* ---- figures ---- */

static void put_time(takt_text *text, double ns)
{
    const double unit = ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 1e9 ? 1e6 : 1e9;
    takt_text_add(text, "%.4g&nbsp;%s", ns / unit,
                  unit == 1     ? "ns"
                  : unit == 1e3 ? "us"
                  : unit == 1e6 ? "ms"
                                : "s");
}

static void put_count(takt_text *text, double value)
{
    const double unit = value < 1e4 ? 1 : value < 1e7 ? 1e3 : value < 1e10 ? 1e6 : 1e9;
    takt_text_add(text, "%.4g%s", value / unit,
                  unit == 1     ? ""
                  : unit == 1e3 ? "&nbsp;k"
                  : unit == 1e6 ? "&nbsp;M"
                                : "&nbsp;G");
}

static void put_bytes(takt_text *text, uint64_t bytes)
{
    const double b = (double)bytes;
    const double unit = b < 1e4 ? 1 : b < 1e6 ? 1e3 : b < 1e9 ? 1e6 : 1e9;
    takt_text_add(text, "%.4g&nbsp;%s", b / unit,
                  unit == 1     ? "B"
                  : unit == 1e3 ? "kB"
                  : unit == 1e6 ? "MB"
                                : "GB");
}

static void put_percentile(takt_text *text, const takt_percentile *p)
{
    takt_text_add(text, "%s", p->resolved ? "" : "&ge;&nbsp;");
    put_time(text, p->value);
}

/* ---- the top ---- */

static void head(takt_text *text, const takt_bench *b)
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    takt_html_begin(text, "", b->model);
    takt_text_add(text, "<h1>");
    takt_html_text(text, b->model);
    takt_text_add(text, "</h1>\n<p>");
    takt_html_text(text, b->type);
    takt_text_add(text, " &middot; ");
    takt_html_text(text, b->is_loaded ? b->cpu : facts.model);
    takt_text_add(text, " &middot; ");
    takt_html_text(text, b->timestamp);
    takt_text_add(text, "</p>\n");
    if (b->count < b->expected)
        takt_text_add(text, "<p class=\"warn\">Incomplete: %zu of %zu cases were measured.</p>\n",
                      b->count, b->expected);
    else if (takt_bench_is_incomplete(b))
        takt_text_add(text, "<p class=\"warn\">Incomplete: the measurement was broken off.</p>\n");
    if (b->is_debug)
        takt_text_add(text, "<p class=\"warn\">A debug build measured this: compare it with "
                            "nothing.</p>\n");
}

static void card(takt_text *text, const char *what)
{
    takt_text_add(text, "<div class=\"card\"><span>%s</span><b>", what);
}

static void cards(takt_text *text, const takt_bench *b, const takt_bench_row *r)
{
    const takt_stats *s = &r->timing.stats;
    if (b->count > 1) {
        takt_text_add(text, "<p>Most samples a second: ");
        takt_bench_label(text, r);
        takt_text_add(text, "</p>\n");
    }
    takt_text_add(text, "<div class=\"cards\">\n");
    card(text, "median");
    put_time(text, s->median);
    takt_text_add(text, "</b><span>95&nbsp;%% ");
    put_time(text, s->median_ci.low);
    takt_text_add(text, " to ");
    put_time(text, s->median_ci.high);
    takt_text_add(text, "</span></div>\n");
    card(text, "p99");
    put_percentile(text, &s->percentiles[3]);
    takt_text_add(text, "</b><span>%s%zu runs</span></div>\n",
                  s->percentiles[3].resolved ? "" : "too few for a bound: ", s->count);
    card(text, "throughput");
    put_count(text, takt_bench_rate(r));
    takt_text_add(text, "</b><span>samples a second</span></div>\n");
    card(text, "memory");
    put_bytes(text, r->planned_peak);
    takt_text_add(text, "</b><span>planned; %llu allocations a run</span></div>\n",
                  (unsigned long long)r->allocations);
    card(text, "noise");
    takt_text_add(text,
                  "grade %s</b><span>A/A %.2f&nbsp;%%, stolen %.2f&nbsp;%%, others used %.1f "
                  "processors</span></div>\n</div>\n",
                  takt_bench_grade(b), takt_bench_noise_pct(b), b->others.steal_pct,
                  b->others.processors);
}

/* ---- all cases ---- */

static void row(takt_text *text, const takt_bench_row *r, bool is_best)
{
    const takt_stats *s = &r->timing.stats;
    takt_text_add(text, "<tr%s><td>", is_best ? " class=\"best\"" : "");
    takt_bench_label(text, r);
    takt_text_add(text, "%s</td><td>", r->timing.is_complete ? "" : " (incomplete)");
    put_time(text, s->median);
    takt_text_add(text, "</td><td>");
    put_time(text, s->median_ci.low);
    takt_text_add(text, " to ");
    put_time(text, s->median_ci.high);
    takt_text_add(text, "</td><td>");
    put_percentile(text, &s->percentiles[1]);
    takt_text_add(text, "</td><td>");
    put_percentile(text, &s->percentiles[3]);
    takt_text_add(text, "</td><td>");
    put_count(text, takt_bench_rate(r));
    takt_text_add(text, "</td><td>");
    put_bytes(text, r->planned_peak);
    takt_text_add(text, "</td><td>%zu</td></tr>\n", s->count);
}

static void summary(takt_text *text, const takt_bench *b)
{
    const size_t best = takt_bench_best(b);
    takt_text_add(
        text,
        "<div class=\"wide\"><table><tr><th></th><th>median</th><th>95 %% interval</th><th>p90</th>"
        "<th>p99</th><th>samples/s</th><th>memory</th><th>runs</th></tr>\n");
    for (size_t i = 0; i < b->count; i++)
        row(text, &b->rows[i], b->count > 1 && i == best);
    takt_text_add(text, "</table></div>\n");
}

/* One line per number of threads; `of` gives the height. */
static void scaling(takt_text *text, const takt_bench *b, bool latency)
{
    takt_arena arena;
    takt_arena_init(&arena, b->ctx);
    takt_plot_point *points = takt_arena_array(&arena, b->count, sizeof *points);
    for (size_t i = 0; points != NULL && i < b->count; i++) {
        const takt_bench_row *r = &b->rows[i];
        const takt_stats *s = &r->timing.stats;
        points[i] = (takt_plot_point){.x = (double)r->batch,
                                      .y = latency ? s->median * 1e-3 : takt_bench_rate(r),
                                      .low = latency ? s->median_ci.low * 1e-3 : 0,
                                      .high = latency ? s->percentiles[1].value * 1e-3 : 0,
                                      .series = r->threads,
                                      .name = takt_arena_format(&arena, "%d thread%s", r->threads,
                                                                r->threads == 1 ? "" : "s")};
    }
    const takt_plot plot = {.title = latency ? "Latency by batch size (to p90)"
                                             : "Throughput by batch size",
                            .x_label = "batch",
                            .y_label = latency ? "microseconds" : "samples/s",
                            .x_log = true,
                            .y_log = latency,
                            .joined = true,
                            .points = points,
                            .count = points != NULL ? b->count : 0};
    takt_plot_points(text, &plot);
    takt_arena_deinit(&arena);
}

static void suggestion(takt_text *text, const takt_bench *b)
{
    const bool has_slo = b->count > 0 && b->rows[0].usage.slo.limit_ns > 0;
    takt_batch_suggestion s;
    if (takt_suggest_batch(b, NULL, &s) != TAKT_OK || s.knee == 0)
        return;
    if (s.best > 0)
        takt_text_add(text, "<p>Best%s: batch %lld on %d thread%s. ",
                      has_slo ? " within the SLO" : "", (long long)s.best, s.threads,
                      s.threads == 1 ? "" : "s");
    else
        takt_text_add(text, "<p>No batch size meets the SLO. ");
    takt_text_add(text,
                  "The knee is at batch %lld: the smallest with 90&nbsp;%% of the most samples a "
                  "second. A rule of thumb says %lld.</p>\n",
                  (long long)s.knee, (long long)s.formula);
}

/* ---- one case ---- */

static void steps(takt_text *text, const takt_bench_row *r)
{
    takt_text_add(
        text,
        "<div class=\"wide\"><table><tr><th>step</th><th>time</th><th>share</th><th></th><th>bound"
        "</th><th>of ceiling</th></tr>\n");
    for (size_t i = 0; i < r->op_count; i++) {
        const takt_bench_op *op = &r->ops[i];
        takt_text_add(text, "<tr><td>");
        takt_html_text(text, op->name);
        takt_text_add(text, "</td><td>");
        put_time(text, op->time_us * 1e3);
        takt_text_add(text,
                      "</td><td>%.1f&nbsp;%%</td><td class=\"bar\"><i style=\"width:%.1f%%\"></i>"
                      "</td><td>",
                      100 * op->share, fmin(100, fmax(0, 100 * op->share)));
        takt_html_text(text, op->bound);
        takt_text_add(text, "</td><td>");
        if (op->bound != NULL)
            takt_text_add(text, "%.0f&nbsp;%%", op->percent);
        takt_text_add(text, "</td></tr>\n");
    }
    takt_text_add(text, "</table></div>\n");
}

/* Arithmetic per byte against arithmetic per second, beneath what the machine reaches. */
static void roofline(takt_text *text, const takt_bench *b, const takt_bench_row *r)
{
    takt_arena arena;
    takt_arena_init(&arena, b->ctx);
    takt_plot_point *points = takt_arena_array(&arena, r->op_count, sizeof *points);
    size_t count = 0;
    for (size_t i = 0; points != NULL && i < r->op_count; i++) {
        const takt_bench_op *op = &r->ops[i];
        if (op->flops > 0 && op->bytes > 0 && op->time_us > 0)
            points[count++] = (takt_plot_point){.x = op->flops / op->bytes,
                                                .y = op->flops / op->time_us * 1e-3,
                                                .weight = op->share,
                                                .name = op->name};
    }
    const bool is_single = r->threads == 1;
    const takt_ceiling *c = is_single ? &b->ceilings.one : &b->ceilings.all;
    takt_plot_roofline(text, c, points, count);
    takt_arena_deinit(&arena);
}

static void one_case(takt_text *text, const takt_bench *b, const takt_bench_row *r, bool is_open)
{
    takt_text_add(text, "<details%s><summary>", is_open ? " open" : "");
    takt_bench_label(text, r);
    takt_text_add(text, "</summary>\n<div class=\"plots\">\n");
    if (r->timing.count > 0) {
        takt_plot_distribution(text, &r->timing);
        takt_plot_series(text, &r->timing);
        takt_plot_tail(text, &r->timing);
    }
    if (b->has_ceilings)
        roofline(text, b, r);
    takt_text_add(text, "</div>\n<pre>");
    takt_text_add(text,
                  "load %.3g ms, plan %.3g ms, first run %.3g ms, %zu to warm up, input "
                  "copy %.3g us\n",
                  r->load_ns * 1e-6, r->plan_ns * 1e-6, r->timing.first_ns * 1e-6,
                  r->timing.warmup_runs, r->timing.copy_ns * 1e-3);
    takt_bench_usage_text(text, b, r);
    takt_text_add(text, "</pre>\n");
    if (r->op_count > 0)
        steps(text, r);
    takt_text_add(text, "</details>\n");
}

/* ---- the end ---- */

/* In a script, "<" could end it: JSON allows another spelling. */
static void embed(takt_text *text, const takt_bench *b)
{
    takt_text json;
    takt_json_writer w;
    takt_text_init(&json, b->ctx);
    takt_json_begin(&w, &json, false);
    takt_bench_json(&w, b);
    takt_text_add(text, "<script type=\"application/json\" id=\"takt-result\">");
    const char *at = takt_text_get(&json);
    for (size_t done = 0; done < json.length;) {
        const size_t plain = strcspn(at + done, "<");
        takt_text_put(text, at + done, plain);
        done += plain;
        if (done < json.length) {
            takt_text_add(text, "\\u003c");
            done++;
        }
    }
    takt_text_add(text, "</script>\n");
    if (json.status != TAKT_OK)
        text->status = json.status;
    takt_text_deinit(&json);
}

static void foot(takt_text *text, const takt_bench *b)
{
    takt_text_add(text, "<footer><code>");
    for (size_t i = 0; i < b->command_count; i++) {
        takt_html_text(text, b->command[i]);
        takt_text_add(text, " ");
    }
    takt_text_add(text, "</code><p>Machine %s, model %.12s. All samples are in this file: ",
                  b->fingerprint, b->model_sha256 != NULL ? b->model_sha256 : "");
    takt_text_add(text, "<code>takt benchmark analyze</code> reads it.</p></footer>\n");
    embed(text, b);
    takt_text_add(text, "</body></html>\n");
}

void takt_bench_html(takt_text *text, const takt_bench *b)
{
    const size_t best = takt_bench_best(b);
    head(text, b);
    if (b->count > 0)
        cards(text, b, &b->rows[best]);
    if (b->count > 1) {
        suggestion(text, b);
        takt_text_add(text, "<div class=\"plots\">\n");
        scaling(text, b, false);
        scaling(text, b, true);
        takt_text_add(text, "</div>\n");
    }
    summary(text, b);
    for (size_t i = 0; i < b->count; i++)
        one_case(text, b, &b->rows[i], i == best);
    foot(text, b);
}
