/* compare_report.c - a comparison as a sentence, as JSON, and as a page with distributions. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "measure/compare.h"
#include "measure/plot.h"

typedef struct report {
    const takt_comparison *c;
    const takt_compared *of;
    takt_text *text;
} report;

/* How much faster or slower, in percent, with the interval the same way round. */
static void change(const report *r, double *estimate, double *low, double *high)
{
    const takt_comparison *c = r->c;
    const bool faster = c->ratio < 1;
    *estimate = 100 * fabs(1 - c->ratio);
    *low = 100 * (faster ? 1 - c->ci.high : c->ci.low - 1);
    *high = 100 * (faster ? 1 - c->ci.low : c->ci.high - 1);
}

static void sentence(const report *r, void (*name)(takt_text *text, const char *value))
{
    const takt_comparison *c = r->c;
    double estimate, low, high;
    change(r, &estimate, &low, &high);
    name(r->text, r->of->b);
    switch (c->verdict) {
    case TAKT_SAME:
        takt_text_add(r->text, " is as fast as ");
        name(r->text, r->of->a);
        takt_text_add(r->text, ", within %.3g %%", 100 * c->margin);
        break;
    case TAKT_INCONCLUSIVE:
        takt_text_add(r->text, " may be faster or slower than ");
        name(r->text, r->of->a);
        if (c->processes == 0)
            takt_text_add(r->text, ": inconclusive; about %zu more blocks would tell",
                          c->more_blocks);
        else
            takt_text_add(r->text, ": inconclusive; --repeat-process %zu on each might tell",
                          c->processes + c->more_blocks);
        break;
    default:
        if (c->ratio > 1.9995 || c->ratio < 0.50005) /* what is written as 2 times, or half */
            takt_text_add(r->text, " is %.3g times as %s as ",
                          c->ratio > 1 ? c->ratio : 1 / c->ratio, c->ratio > 1 ? "slow" : "fast");
        else
            takt_text_add(r->text, " is %.2g %% %s than ", estimate, takt_verdict_name(c->verdict));
        name(r->text, r->of->a);
        break;
    }
    takt_text_add(r->text, " (difference %.2f %%, 95 %% interval %.2f to %.2f %%, %zu %s)",
                  100 * (c->ratio - 1), 100 * (c->ci.low - 1), 100 * (c->ci.high - 1), c->blocks,
                  c->processes == 0   ? "blocks"
                  : c->processes == 1 ? "process each"
                                      : "processes each");
}

static void plain(takt_text *text, const char *value)
{
    takt_text_add(text, "%s", value);
}

static void write_text(const report *r)
{
    const takt_comparison *c = r->c;
    sentence(r, plain);
    takt_text_add(r->text, "\n");
    takt_compared_unlike(r->text, r->of, plain);
    takt_text_add(r->text, "%s: %.4g us, %s: %.4g us\n", r->of->a, c->a_ns * 1e-3, r->of->b,
                  c->b_ns * 1e-3);
    if (c->processes > 0) {
        takt_compared_doubt(r->text, c, r->of);
        return;
    }
    takt_text_add(r->text,
                  "%s against itself shows %.2f %% today; the smallest change that this "
                  "comparison could see is about %.2f %%\n",
                  r->of->a, 100 * c->noise, 100 * c->detectable);
}

static void number(takt_json_writer *w, const char *key, double value)
{
    takt_json_key(w, key);
    takt_json_number(w, value);
}

static void write_config(takt_json_writer *w, const char *key, const takt_run_config *c)
{
    if (c->backend == NULL || c->precision == NULL || c->numerics == NULL)
        return;
    takt_json_key(w, key);
    takt_json_open(w, '{');
    takt_json_key(w, "backend");
    takt_json_string(w, c->backend);
    takt_json_key(w, "precision");
    takt_json_string(w, c->precision);
    takt_json_key(w, "numerics");
    takt_json_string(w, c->numerics);
    takt_json_close(w, '}');
}

/* Block medians, where the times are those; not the thousands of a result file. */
static void write_times(takt_json_writer *w, const char *key, const takt_timing *t, size_t blocks)
{
    if (t == NULL || t->count != blocks)
        return;
    takt_json_key(w, key);
    takt_json_open(w, '[');
    for (size_t i = 0; i < t->count; i++)
        takt_json_number(w, t->samples[i]);
    takt_json_close(w, ']');
}

static void write_members(const report *r, takt_json_writer *w)
{
    const takt_comparison *c = r->c;
    takt_json_key(w, "a");
    takt_json_string(w, r->of->a);
    takt_json_key(w, "b");
    takt_json_string(w, r->of->b);
    write_config(w, "a_config", &r->of->a_config);
    write_config(w, "b_config", &r->of->b_config);
    takt_json_key(w, "a_incomplete");
    takt_json_bool(w, r->of->a_incomplete);
    takt_json_key(w, "b_incomplete");
    takt_json_bool(w, r->of->b_incomplete);
    takt_compared_grade(w, "a_grade", r->of->a_grade);
    takt_compared_grade(w, "b_grade", r->of->b_grade);
    if (c->processes > 0) {
        takt_json_key(w, "processes");
        takt_json_unsigned(w, c->processes);
    }
    takt_json_key(w, "verdict");
    takt_json_string(w, takt_verdict_name(c->verdict));
    number(w, "ratio", c->ratio);
    takt_json_key(w, "ci95");
    takt_json_open(w, '[');
    takt_json_number(w, c->ci.low);
    takt_json_number(w, c->ci.high);
    takt_json_close(w, ']');
    number(w, "margin", c->margin);
    number(w, "same_p", c->same_p);
    number(w, "detectable", c->detectable);
    number(w, "noise", c->noise);
    takt_json_key(w, "blocks");
    takt_json_unsigned(w, c->blocks);
    takt_json_key(w, "more_blocks");
    takt_json_unsigned(w, c->more_blocks);
    number(w, "a_us", c->a_ns * 1e-3);
    number(w, "b_us", c->b_ns * 1e-3);
    if (c->processes > 0)
        return;
    write_times(w, "a_blocks_ns", r->of->a_timing, c->blocks);
    write_times(w, "b_blocks_ns", r->of->b_timing, c->blocks);
}

static void write_json(const report *reports, size_t count)
{
    takt_json_writer w;
    takt_json_begin(&w, reports->text, true);
    takt_json_open(&w, '{');
    takt_json_key(&w, "schema");
    takt_json_string(&w, "takt-compare/1");
    if (count == 1) {
        write_members(reports, &w);
    } else {
        takt_json_key(&w, "comparisons");
        takt_json_open(&w, '[');
        for (size_t i = 0; i < count; i++) {
            takt_json_open(&w, '{');
            write_members(&reports[i], &w);
            takt_json_close(&w, '}');
        }
        takt_json_close(&w, ']');
    }
    takt_json_close(&w, '}');
    takt_text_put(reports->text, "\n", 1);
}

static bool has_times(const takt_timing *t)
{
    return t != NULL && t->count > 0;
}

static void details(const report *r)
{
    const takt_comparison *c = r->c;
    takt_text_add(r->text, "<table><tr><th></th><th>median</th></tr>\n<tr><td>A: ");
    takt_html_text(r->text, r->of->a);
    takt_text_add(r->text, "</td><td>%.5g &micro;s</td></tr>\n<tr><td>B: ", c->a_ns * 1e-3);
    takt_html_text(r->text, r->of->b);
    takt_text_add(r->text,
                  "</td><td>%.5g &micro;s</td></tr>\n</table>\n<p>Equivalence test: p = %.3g. The "
                  "smallest change that shows 8 times in 10 is about %.2f&nbsp;%%.</p>\n",
                  c->b_ns * 1e-3, c->same_p, 100 * c->detectable);
}

static void plots(const report *r, const char *name, const takt_timing *t)
{
    if (!has_times(t))
        return;
    takt_text_add(r->text, "<h2>");
    takt_html_text(r->text, name);
    takt_text_add(r->text, "</h2>\n<div class=\"plots\">\n");
    takt_plot_distribution(r->text, t);
    takt_plot_series(r->text, t);
    takt_text_add(r->text, "</div>\n");
}

static const char *title_of(const takt_comparison *c)
{
    return c->verdict == TAKT_SAME     ? "The same"
           : c->verdict == TAKT_FASTER ? "Faster"
           : c->verdict == TAKT_SLOWER ? "Slower"
                                       : "Inconclusive";
}

static void write_html(const report *r)
{
    const takt_comparison *c = r->c;
    takt_html_begin(r->text, "Comparison", "");
    takt_text_add(r->text, "<h1>%s</h1>\n<p>", title_of(c));
    sentence(r, takt_html_text);
    takt_text_add(r->text, "</p>\n<p>");
    takt_compared_unlike(r->text, r->of, takt_html_text);
    takt_text_add(r->text, "</p>\n");
    takt_compared_warn(r->text, r->of);
    takt_text_add(r->text, "<div class=\"plots\">\n");
    const takt_plot_bar bars[] = {
        {"B against A", 100 * (c->ci.low - 1), 100 * (c->ratio - 1), 100 * (c->ci.high - 1), false},
        {"A against itself", -100 * c->noise, 0, 100 * c->noise, true},
        {"margin", -100 * c->margin, 0, 100 * c->margin, true}};
    takt_plot_bars(r->text, "Difference in time, 95 % interval", "percent; right of 0: B is slower",
                   bars, 3);
    if (has_times(r->of->a_timing) && has_times(r->of->b_timing))
        takt_plot_two(r->text, r->of->a_timing, r->of->b_timing);
    takt_text_add(r->text, "</div>\n");
    details(r);
    plots(r, r->of->a, r->of->a_timing);
    plots(r, r->of->b, r->of->b_timing);
    takt_text_add(r->text, "</body></html>\n");
}

/* ---- several ---- */

enum { MOST_BARS = 64 };

static void first_row(const report *r)
{
    takt_text_add(r->text, "<tr><td>");
    takt_html_text(r->text, r->of->a);
    takt_text_add(r->text, "</td><td>%.5g &micro;s</td><td></td><td></td><td></td><td></td></tr>\n",
                  r->c->a_ns * 1e-3);
}

static void table_row(const report *r)
{
    const takt_comparison *c = r->c;
    takt_text_add(r->text, "<tr><td>");
    takt_html_text(r->text, r->of->b);
    takt_text_add(r->text,
                  "</td><td>%.5g &micro;s</td><td>%+.2f&nbsp;%%</td><td>%+.2f to "
                  "%+.2f&nbsp;%%</td><td>%s</td><td>%zu</td></tr>\n",
                  c->b_ns * 1e-3, 100 * (c->ratio - 1), 100 * (c->ci.low - 1),
                  100 * (c->ci.high - 1), takt_verdict_name(c->verdict), c->blocks);
}

/* Do all have one first side? The cases of two result files have not. */
static bool have_one_first(const report *reports, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(reports[i].of->a, reports->of->a) != 0)
            return false;
    return true;
}

static void page_title(const report *reports, size_t count)
{
    takt_text *text = reports->text;
    if (have_one_first(reports, count)) {
        takt_text_add(text, "<h1>%zu compared with ", count);
        takt_html_text(text, reports->of->a);
    } else {
        takt_text_add(text, "<h1>%zu comparisons", count);
    }
    takt_text_add(text, "</h1>\n<div class=\"plots\">\n");
}

/* Everything against the first: one table, one picture, and the pairs one by one. */
static void write_page(const report *reports, size_t count)
{
    takt_text *text = reports->text;
    takt_plot_bar bars[MOST_BARS];
    const size_t shown = count < MOST_BARS - 1 ? count : MOST_BARS - 1;
    for (size_t i = 0; i < shown; i++) {
        const takt_comparison *c = reports[i].c;
        bars[i] = (takt_plot_bar){reports[i].of->b, 100 * (c->ci.low - 1), 100 * (c->ratio - 1),
                                  100 * (c->ci.high - 1), false};
    }
    bars[shown] =
        (takt_plot_bar){"margin", -100 * reports->c->margin, 0, 100 * reports->c->margin, true};
    takt_html_begin(text, "Comparison", "");
    page_title(reports, count);
    takt_plot_bars(text, "Difference in time, 95 % interval", "percent; right of 0: slower", bars,
                   shown + 1);
    takt_text_add(text, "</div>\n<table><tr><th></th><th>median</th><th>difference</th>"
                        "<th>95&nbsp;%% interval</th><th>verdict</th><th>blocks</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(reports[i].of->a, reports[i - 1].of->a) != 0)
            first_row(&reports[i]);
        table_row(&reports[i]);
    }
    takt_text_add(text, "</table>\n");
    for (size_t i = 0; i < count; i++) {
        takt_text_add(text, "<h2>%s: ", title_of(reports[i].c));
        takt_html_text(text, reports[i].of->b);
        takt_text_add(text, "</h2>\n<p>");
        sentence(&reports[i], takt_html_text);
        takt_text_add(text, "</p>\n<p>");
        takt_compared_unlike(text, reports[i].of, takt_html_text);
        takt_text_add(text, "</p>\n");
        takt_compared_warn(text, reports[i].of);
        takt_text_add(text, "<div class=\"plots\">\n");
        if (has_times(reports[i].of->a_timing) && has_times(reports[i].of->b_timing))
            takt_plot_two(text, reports[i].of->a_timing, reports[i].of->b_timing);
        if (has_times(reports[i].of->b_timing))
            takt_plot_distribution(text, reports[i].of->b_timing);
        takt_text_add(text, "</div>\n");
    }
    takt_text_add(text, "</body></html>\n");
}

takt_status takt_comparisons_write(takt_ctx *ctx, const takt_comparison *comparisons,
                                   const takt_compared *of, size_t count, takt_sink_fn *sink,
                                   void *user)
{
    takt_text text;
    void *block;
    if (count == 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "there are no comparisons to write");
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof(report), "comparisons", &block));
    report *reports = block;
    takt_text_init(&text, ctx);
    for (size_t i = 0; i < count; i++)
        reports[i] = (report){&comparisons[i], &of[i], &text};
    if (of->format == TAKT_BENCH_JSON)
        write_json(reports, count);
    else if (of->format == TAKT_BENCH_HTML && count == 1)
        write_html(reports);
    else if (of->format == TAKT_BENCH_HTML)
        write_page(reports, count);
    for (size_t i = 0; i < count && of->format == TAKT_BENCH_TEXT; i++)
        write_text(&reports[i]);
    takt_status status = text.status;
    if (status == TAKT_OK && sink(user, takt_text_get(&text), text.length) != 0)
        status = takt_fail(ctx, TAKT_E_FILE_WRITE, "the reader of a report refused it");
    takt_text_deinit(&text);
    takt_mem_put(ctx, block, count * sizeof(report));
    return status;
}

takt_status takt_comparison_write(takt_ctx *ctx, const takt_comparison *c, const takt_compared *of,
                                  takt_sink_fn *sink, void *user)
{
    return takt_comparisons_write(ctx, c, of, 1, sink, user);
}
