/* quantize_report.c - the effect of quantisation, layer by layer, and the whole before and
 * after. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/report.h"
#include "shrink/quantize.h"

static bool has_noise(const takt_quantizing *z, size_t i)
{
    return z->asked[i] && z->noise[i].shift != NULL;
}

static double sqnr_of(const takt_quantizing *z, size_t i)
{
    return takt_decibels(z->noise[i].signal, z->noise[i].noise);
}

static const char *op_of(const takt_quantizing *z, size_t i)
{
    return z->base->nodes[z->layers.at[i].product].op->name;
}

/* ---- text ---- */

/* Names of converted models can be longer than a line: their end says most. */
static const char *end_of(const char *name, char *to, size_t size)
{
    const size_t length = strlen(name);
    if (length < size)
        return name;
    snprintf(to, size, "...%s", name + length - (size - 4));
    return to;
}

static void write_table(takt_report *rep, const takt_quantizing *z)
{
    static const char *const heads[] = {"layer", "op",    "weights", "SQNR",
                                        "f32",   "after", "ratio",   "verdict"};
    takt_table t;
    char figure[TAKT_FIGURE_TEXT], name[40];
    takt_table_init(&t, z->ctx, "llrrrrrl");
    for (size_t i = 0; i < 8; i++)
        takt_table_cell(&t, "%s", heads[i]);
    takt_table_rule(&t);
    for (size_t i = 0; i < z->layers.count; i++) {
        const takt_shrink_layer *l = &z->layers.at[i];
        const takt_comparison *c = &z->times[i];
        takt_table_cell(&t, "%s", end_of(l->name, name, sizeof name));
        takt_table_cell(&t, "%s", op_of(z, i));
        takt_table_cell(&t, "%s", takt_figure((uint64_t)(l->rows * l->inner), figure));
        if (has_noise(z, i))
            takt_table_cell(&t, "%.1f dB", sqnr_of(z, i));
        else
            takt_table_cell(&t, "-");
        if (z->asked[i]) {
            takt_table_cell(&t, "%.1f us", c->a_ns / 1e3);
            takt_table_cell(&t, "%.1f us", c->b_ns / 1e3);
            takt_table_cell(&t, "%.2f", c->ratio);
        } else {
            for (int k = 0; k < 3; k++)
                takt_table_cell(&t, "-");
        }
        takt_table_cell(&t, "%s", z->why[i]);
    }
    takt_table_print(&t, &rep->text);
    takt_table_deinit(&t);
}

static void write_scores(takt_report *rep, const takt_quantizing *z)
{
    const takt_share a = takt_score_share(&z->before), b = takt_score_share(&z->after);
    const takt_share lost = takt_score_lost(&z->before, &z->after);
    takt_text_add(&rep->text,
                  "top%d      %.2f %% (%.2f to %.2f) before, %.2f %% (%.2f to %.2f) after: "
                  "%.2f points lost (%.2f to %.2f), %llu samples\n",
                  z->top, 100 * a.value, 100 * a.low, 100 * a.high, 100 * b.value, 100 * b.low,
                  100 * b.high, 100 * lost.value, 100 * lost.low, 100 * lost.high,
                  (unsigned long long)z->before.count);
}

static void write_text(takt_report *rep, const takt_quantizing *z)
{
    const takt_quantize_summary *s = &z->summary;
    char before[TAKT_FIGURE_TEXT], after[TAKT_FIGURE_TEXT];
    write_table(rep, z);
    takt_text_add(&rep->text, "layers    %zu of %zu as %s\n", s->taken, s->layers, z->kind->name);
    if (z->o.equalize)
        takt_text_add(&rep->text, "equalised %zu pair%s of layers\n", s->equalized,
                      s->equalized == 1 ? "" : "s");
    if (z->o.smooth > 0)
        takt_text_add(&rep->text, "smoothed  %zu norm%s\n", s->smoothed,
                      s->smoothed == 1 ? "" : "s");
    if (s->taken > 0 && z->kind->x_bits > 0)
        takt_text_add(&rep->text, "returns   %zu value%s between them in floats\n", s->returns,
                      s->returns == 1 ? "" : "s");
    takt_text_add(&rep->text, "weights   %s before, %s after: %.3f of it\n",
                  takt_figure_bytes(s->bytes_before, before),
                  takt_figure_bytes(s->bytes_after, after),
                  s->bytes_before > 0 ? (double)s->bytes_after / (double)s->bytes_before : 1);
    if (s->taken > 0)
        takt_text_add(&rep->text,
                      "time      %.1f us before, %.1f us after: %.2f of it (%.2f to %.2f), %s\n",
                      s->time.a_ns / 1e3, s->time.b_ns / 1e3, s->time.ratio, s->time.ci.low,
                      s->time.ci.high, takt_verdict_name(s->time.verdict));
    if (z->before.count > 0)
        write_scores(rep, z);
}

/* ---- JSON ---- */

static void write_number(takt_report *rep, const char *key, double value)
{
    if (isfinite(value))
        takt_json_put_number(&rep->json, key, value);
    else
        takt_report_pair(rep, key, isnan(value) ? "unknown" : "inf");
}

static void write_times(takt_report *rep, const takt_comparison *c)
{
    write_number(rep, "f32_ns", c->a_ns);
    write_number(rep, "after_ns", c->b_ns);
    write_number(rep, "ratio", c->ratio);
    write_number(rep, "ratio_low", c->ci.low);
    write_number(rep, "ratio_high", c->ci.high);
    takt_report_pair(rep, "verdict", takt_verdict_name(c->verdict));
}

static void write_share(takt_report *rep, const char *key, takt_share s)
{
    takt_json_put_open(&rep->json, key, '{');
    write_number(rep, "value", s.value);
    write_number(rep, "low", s.low);
    write_number(rep, "high", s.high);
    takt_json_close(&rep->json, '}');
}

static void write_rows(takt_report *rep, const takt_quantizing *z)
{
    takt_json_put_open(&rep->json, "rows", '[');
    for (size_t i = 0; i < z->layers.count; i++) {
        const takt_shrink_layer *l = &z->layers.at[i];
        takt_json_open(&rep->json, '{');
        takt_report_pair(rep, "layer", l->name);
        takt_report_pair(rep, "op", op_of(z, i));
        takt_report_count(rep, "weights", (uint64_t)(l->rows * l->inner));
        if (has_noise(z, i))
            write_number(rep, "sqnr", sqnr_of(z, i));
        if (z->asked[i])
            write_times(rep, &z->times[i]);
        takt_json_put_bool(&rep->json, "taken", z->taken[i]);
        takt_report_pair(rep, "why", z->why[i]);
        takt_json_close(&rep->json, '}');
    }
    takt_json_close(&rep->json, ']');
}

static void write_json(takt_report *rep, const takt_quantizing *z)
{
    const takt_quantize_summary *s = &z->summary;
    takt_report_pair(rep, "type", z->kind->name);
    takt_report_count(rep, "layers", s->layers);
    takt_report_count(rep, "taken", s->taken);
    takt_report_count(rep, "equalized", s->equalized);
    takt_report_count(rep, "smoothed", s->smoothed);
    takt_report_count(rep, "returns", s->returns);
    takt_report_count(rep, "bytes_before", s->bytes_before);
    takt_report_count(rep, "bytes_after", s->bytes_after);
    if (s->taken > 0) {
        takt_json_put_open(&rep->json, "time", '{');
        write_times(rep, &s->time);
        takt_json_close(&rep->json, '}');
    }
    if (z->before.count > 0) {
        takt_report_count(rep, "samples", s->samples);
        takt_report_count(rep, "hits_before", s->hits_before);
        takt_report_count(rep, "hits_after", s->hits_after);
        write_share(rep, "before", takt_score_share(&z->before));
        write_share(rep, "after", takt_score_share(&z->after));
        write_share(rep, "lost", takt_score_lost(&z->before, &z->after));
    }
    write_rows(rep, z);
}

takt_status takt_quantizing_report(takt_quantizing *z, takt_format format, takt_sink_fn *sink,
                                   void *user)
{
    takt_report rep;
    takt_report_begin(&rep, z->ctx, format);
    if (rep.is_json)
        write_json(&rep, z);
    else
        write_text(&rep, z);
    return takt_report_end(&rep, TAKT_OK, sink, user);
}
