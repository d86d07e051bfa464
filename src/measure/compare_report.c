/* compare_report.c - comparisons as sentences and as JSON; compare_html.c has pages. */
#include <math.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/plain.h"
#include "measure/compare_report.h"

/* How much faster or slower, in percent, with the interval in the same direction. */
static void change(const takt_compare_report *r, double *estimate, double *low, double *high)
{
    const takt_comparison *c = r->c;
    const bool faster = c->ratio < 1;
    *estimate = 100 * fabs(1 - c->ratio);
    *low = 100 * (faster ? 1 - c->ci.high : c->ci.low - 1);
    *high = 100 * (faster ? 1 - c->ci.low : c->ci.high - 1);
}

void takt_compare_sentence(const takt_compare_report *r,
                           void (*name)(takt_text *text, const char *value))
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
            takt_text_add(r->text, ": inconclusive; about %zu more block%s would tell",
                          c->more_blocks, c->more_blocks == 1 ? "" : "s");
        else
            takt_text_add(r->text, ": inconclusive; --repeat-process %zu on each might tell",
                          c->processes + c->more_blocks);
        break;
    default:
        if (c->ratio > 1.9995 || c->ratio < 0.50005) /* ratios that are written as 2 times, or
                                                      * half */
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

static void write_text(const takt_compare_report *r)
{
    const takt_comparison *c = r->c;
    takt_compare_sentence(r, plain);
    takt_text_add(r->text, "\n");
    takt_compared_unlike(r->text, r->of, plain);
    takt_text_add(r->text, "%s: %.4g us, %s: %.4g us\n", r->of->a, c->a_ns * 1e-3, r->of->b,
                  c->b_ns * 1e-3);
    if (c->processes > 0) {
        takt_compared_doubt(r->text, c, r->of);
        return;
    }
    if (c->noise > 0)
        takt_text_add(r->text, "%s against itself shows %.2f %% today; ", r->of->a, 100 * c->noise);
    else
        takt_text_add(r->text, "%zu blocks are too few to compare %s with itself; ", c->blocks,
                      r->of->a);
    takt_text_add(r->text, "the smallest change that this comparison could see is about %.2f %%\n",
                  100 * c->detectable);
}

static void write_config(takt_json_writer *w, const char *key, const takt_run_config *c)
{
    if (c->backend == NULL || c->precision == NULL || c->numerics == NULL)
        return;
    takt_json_put_open(w, key, '{');
    takt_json_put_string(w, "backend", c->backend);
    takt_json_put_string(w, "precision", c->precision);
    takt_json_put_string(w, "numerics", c->numerics);
    takt_json_close(w, '}');
}

/* Block medians, if the times are such; not the thousands of a result file. */
static void write_times(takt_json_writer *w, const char *key, const takt_timing *t, size_t blocks)
{
    if (t == NULL || t->count != blocks)
        return;
    takt_json_put_open(w, key, '[');
    for (size_t i = 0; i < t->count; i++)
        takt_json_number(w, t->samples[i]);
    takt_json_close(w, ']');
}

static void write_members(const takt_compare_report *r, takt_json_writer *w)
{
    const takt_comparison *c = r->c;
    takt_json_put_string(w, "a", r->of->a);
    takt_json_put_string(w, "b", r->of->b);
    write_config(w, "a_config", &r->of->a_config);
    write_config(w, "b_config", &r->of->b_config);
    takt_json_put_bool(w, "a_incomplete", r->of->a_incomplete);
    takt_json_put_bool(w, "b_incomplete", r->of->b_incomplete);
    takt_compared_grade(w, "a_grade", r->of->a_grade);
    takt_compared_grade(w, "b_grade", r->of->b_grade);
    if (c->processes > 0) {
        takt_json_put_unsigned(w, "processes", c->processes);
    }
    takt_json_put_string(w, "verdict", takt_verdict_name(c->verdict));
    takt_json_put_number(w, "ratio", c->ratio);
    takt_json_put_open(w, "ci95", '[');
    takt_json_number(w, c->ci.low);
    takt_json_number(w, c->ci.high);
    takt_json_close(w, ']');
    takt_json_put_number(w, "margin", c->margin);
    takt_json_put_number(w, "same_p", c->same_p);
    takt_json_put_number(w, "detectable", c->detectable);
    takt_json_put_number(w, "noise", c->noise);
    takt_json_put_unsigned(w, "blocks", c->blocks);
    takt_json_put_unsigned(w, "more_blocks", c->more_blocks);
    takt_json_put_number(w, "a_us", c->a_ns * 1e-3);
    takt_json_put_number(w, "b_us", c->b_ns * 1e-3);
    if (c->processes > 0)
        return;
    write_times(w, "a_blocks_ns", r->of->a_timing, c->blocks);
    write_times(w, "b_blocks_ns", r->of->b_timing, c->blocks);
}

static void write_json(const takt_compare_report *reports, size_t count)
{
    takt_json_writer w;
    takt_json_begin(&w, reports->text, true);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "schema", "takt-compare/1");
    if (count == 1) {
        write_members(reports, &w);
    } else {
        takt_json_put_open(&w, "comparisons", '[');
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

takt_status takt_comparisons_write(takt_ctx *ctx, const takt_comparison *comparisons,
                                   const takt_compared *of, size_t count, takt_sink_fn *sink,
                                   void *user)
{
    takt_text text;
    void *block;
    if (count == 0)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "there are no comparisons to write");
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof(takt_compare_report), "comparisons", &block));
    takt_compare_report *reports = block;
    takt_text_init(&text, ctx);
    for (size_t i = 0; i < count; i++)
        reports[i] = (takt_compare_report){&comparisons[i], &of[i], &text};
    if (of->format == TAKT_BENCH_JSON)
        write_json(reports, count);
    else if (of->format == TAKT_BENCH_HTML)
        takt_compare_html(reports, count);
    for (size_t i = 0; i < count && of->format == TAKT_BENCH_TEXT; i++)
        write_text(&reports[i]);
    takt_text_plain(&text);
    takt_status status = text.status;
    if (status == TAKT_OK && sink(user, takt_text_get(&text), text.length) != 0)
        status = takt_fail(ctx, TAKT_E_FILE_WRITE, "the reader of a report refused it");
    takt_text_deinit(&text);
    takt_mem_put(ctx, block, count * sizeof(takt_compare_report));
    return status;
}

takt_status takt_comparison_write(takt_ctx *ctx, const takt_comparison *c, const takt_compared *of,
                                  takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, c);
    TAKT_NEED(ctx, of);
    TAKT_NEED(ctx, sink);
    return takt_comparisons_write(ctx, c, of, 1, sink, user);
}
