/* bench_html.c - a result as one HTML file: tables, plots, and the JSON inside, to be read again.
 */
#include <string.h>

#include "measure/bench.h"
#include "measure/plot.h"

static void head(takt_text *text, const takt_bench *b)
{
    takt_cpu_facts facts;
    takt_cpu_read(&facts);
    takt_text_add(text, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    takt_html_text(text, b->model);
    takt_text_add(text, " - Takt</title>\n<style>\n");
    takt_html_style(text);
    takt_text_add(text, "</style></head><body>\n<h1>");
    takt_html_text(text, b->model);
    takt_text_add(text, "</h1>\n<p>");
    takt_html_text(text, b->type);
    takt_text_add(text, " &middot; ");
    takt_html_text(text, b->is_loaded ? b->cpu : facts.model);
    takt_text_add(text, " &middot; ");
    takt_html_text(text, b->timestamp);
    takt_text_add(text,
                  "</p>\n<p>Noise grade %s: comparing this run with itself shows differences of "
                  "%.2f&nbsp;%%; %.2f&nbsp;%% of the processors' time went to others.</p>\n",
                  takt_bench_grade(b), takt_bench_noise_pct(b), b->steal_pct);
}

static void row(takt_text *text, const takt_bench_row *r)
{
    const takt_stats *s = &r->timing.stats;
    const takt_percentile *p99 = &s->percentiles[3];
    takt_text_add(text, "<tr><td>batch %lld, %d thread%s%s</td><td>%.4g</td><td>%.4g to %.4g</td>",
                  (long long)r->batch, r->threads, r->threads == 1 ? "" : "s",
                  r->timing.is_complete ? "" : " (incomplete)", s->median * 1e-6,
                  s->median_ci.low * 1e-6, s->median_ci.high * 1e-6);
    takt_text_add(text, "<td>%.4g</td><td>%s%.4g</td><td>%.5g</td><td>%llu</td><td>%zu</td></tr>\n",
                  s->percentiles[1].value * 1e-6, p99->resolved ? "" : "&ge; ", p99->value * 1e-6,
                  r->throughput.median, (unsigned long long)r->planned_peak, s->count);
}

static void summary(takt_text *text, const takt_bench *b)
{
    takt_text_add(text, "<table><tr><th></th><th>median ms</th><th>95 %% interval</th><th>p90</th>"
                        "<th>p99</th><th>samples/s</th><th>peak bytes</th><th>runs</th></tr>\n");
    for (size_t i = 0; i < b->count; i++)
        row(text, &b->rows[i]);
    takt_text_add(text, "</table>\n");
}

static void steps(takt_text *text, const takt_bench_row *r)
{
    takt_text_add(text, "<table><tr><th>step</th><th>microseconds</th><th>share</th><th>bound</th>"
                        "<th>of ceiling</th></tr>\n");
    for (size_t i = 0; i < r->op_count; i++) {
        const takt_bench_op *op = &r->ops[i];
        takt_text_add(text, "<tr><td>");
        takt_html_text(text, op->name);
        takt_text_add(text, "</td><td>%.4g</td><td>%.1f %%</td><td>", op->time_us, 100 * op->share);
        takt_html_text(text, op->bound);
        takt_text_add(text, "</td><td>");
        if (op->bound != NULL)
            takt_text_add(text, "%.0f %%", op->percent);
        takt_text_add(text, "</td></tr>\n");
    }
    takt_text_add(text, "</table>\n");
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
            points[count++] = (takt_plot_point){
                .x = op->flops / op->bytes, .y = op->flops / op->time_us * 1e-3, .name = op->name};
    }
    const bool alone = r->threads == 1;
    const takt_ceiling *c = alone ? &b->ceilings.one : &b->ceilings.all;
    const takt_plot plot = {.title = "Roofline (memory and multiply-add ceilings)",
                            .x_label = "FLOP per byte",
                            .y_label = "GFLOP/s",
                            .x_log = true,
                            .y_log = true,
                            .points = points,
                            .count = count,
                            .slope = takt_ceilings_read_gbs(&b->ceilings, TAKT_LEVELS - 1, !alone),
                            .roof = c->f32_gflops};
    if (count > 0)
        takt_plot_points(text, &plot);
    takt_arena_deinit(&arena);
}

static void scaling(takt_text *text, const takt_bench *b)
{
    takt_arena arena;
    takt_arena_init(&arena, b->ctx);
    takt_plot_point *points = takt_arena_array(&arena, b->count, sizeof *points);
    for (size_t i = 0; points != NULL && i < b->count; i++)
        points[i] = (takt_plot_point){.x = (double)b->rows[i].batch,
                                      .y = b->rows[i].throughput.median,
                                      .low = b->rows[i].throughput.median_ci.low,
                                      .high = b->rows[i].throughput.median_ci.high,
                                      .name = b->rows[i].threads == 1 ? "1 thread" : "several"};
    const takt_plot plot = {.title = "Throughput by batch size",
                            .x_label = "batch",
                            .y_label = "samples/s",
                            .points = points,
                            .count = points != NULL ? b->count : 0};
    takt_plot_points(text, &plot);
    takt_arena_deinit(&arena);
}

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

void takt_bench_html(takt_text *text, const takt_bench *b)
{
    head(text, b);
    summary(text, b);
    if (b->count > 1)
        scaling(text, b);
    for (size_t i = 0; i < b->count; i++) {
        const takt_bench_row *r = &b->rows[i];
        takt_text_add(text, "<h2>batch %lld, %d thread%s</h2>\n<div class=\"plots\">\n",
                      (long long)r->batch, r->threads, r->threads == 1 ? "" : "s");
        if (r->timing.count > 0) {
            takt_plot_distribution(text, &r->timing);
            takt_plot_series(text, &r->timing);
        }
        if (b->has_ceilings)
            roofline(text, b, r);
        takt_text_add(text, "</div>\n");
        if (r->op_count > 0)
            steps(text, r);
    }
    embed(text, b);
    takt_text_add(text, "</body></html>\n");
}
