/* diff_report.c - what was found, as text or JSON. */
#include "verify/diff_report.h"

#include <math.h>
#include <stdio.h>

#include "base/report.h"
#include "plan/finish.h"

static const takt_diff_row *first_of(const takt_diff_work *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->rows[i].cause != TAKT_CAUSE_NONE)
            return &w->rows[i];
    return NULL;
}

static const char *label(const takt_diff_work *w, const takt_diff_row *row)
{
    return takt_node_label(&w->own.graph->nodes[row->at]);
}

static void decibels(double sqnr, char *to, size_t size)
{
    if (isinf(sqnr))
        snprintf(to, size, "%s", sqnr > 0 ? "equal" : "none");
    else
        snprintf(to, size, "%.1f dB", sqnr);
}

static void write_first(takt_report *r, const takt_diff_work *w, const takt_diff_row *row)
{
    takt_text_add(&r->text, "first: %s (%s): %s%s%s\n", label(w, row),
                  w->own.graph->nodes[row->id].op->name, takt_cause_words[row->cause],
                  row->detail != NULL ? ": " : "", row->detail != NULL ? row->detail : "");
    if (!w->has_bins)
        return;
    takt_text_add(&r->text, "  elements by error, as a part of the largest value:");
    for (int i = 0; i < TAKT_DIFF_BINS; i++)
        if (w->bins[i] > 0)
            takt_text_add(&r->text, " %s1e-%d: %zu", i == TAKT_DIFF_BINS - 1 ? "at most " : "", i,
                          w->bins[i]);
    takt_text_add(&r->text, "\n");
}

static void write_text(takt_report *r, takt_diff_work *w, bool all)
{
    takt_table t;
    const takt_diff_row *first = first_of(w);
    takt_table_init(&t, r->ctx, "llrrl");
    static const char *const heads[] = {"value", "op", "made here", "in all", "cause"};
    for (size_t i = 0; i < 5; i++)
        takt_table_cell(&t, "%s", heads[i]);
    takt_table_rule(&t);
    for (size_t i = 0; i < w->count; i++) {
        const takt_diff_row *row = &w->rows[i];
        char made[40], total[40];
        if (!all && row->cause == TAKT_CAUSE_NONE)
            continue;
        decibels(row->sqnr_made, made, sizeof made);
        decibels(row->sqnr, total, sizeof total);
        takt_table_cell(&t, "%s", label(w, row));
        takt_table_cell(&t, "%s", w->own.graph->nodes[row->id].op->name);
        takt_table_cell(&t, "%s", made);
        takt_table_cell(&t, "%s", total);
        takt_table_cell(&t, "%s",
                        row->cause != TAKT_CAUSE_NONE ? takt_cause_words[row->cause] : "");
    }
    if (all || first != NULL)
        takt_table_print(&t, &r->text);
    takt_table_deinit(&t);
    if (first != NULL)
        write_first(r, w, first);
    takt_text_add(&r->text, "%zu values compared, %zu without a counterpart: %zu %s\n", w->count,
                  w->unmatched, w->findings, w->findings == 1 ? "finding" : "findings");
}

static void put_number(takt_report *r, const char *key, double value)
{
    if (isfinite(value))
        takt_json_put_number(&r->json, key, value);
    else
        takt_report_pair(r, key, value > 0 ? "inf" : "-inf");
}

static void write_json(takt_report *r, takt_diff_work *w, bool all)
{
    takt_report_count(r, "matched", w->count);
    takt_report_count(r, "unmatched", w->unmatched);
    takt_report_count(r, "findings", w->findings);
    takt_json_put_open(&r->json, "rows", '[');
    for (size_t i = 0; i < w->count; i++) {
        const takt_diff_row *row = &w->rows[i];
        if (!all && row->cause == TAKT_CAUSE_NONE)
            continue;
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "value", label(w, row));
        takt_report_pair(r, "op", w->own.graph->nodes[row->id].op->name);
        put_number(r, "made", row->made);
        put_number(r, "carried", row->carried);
        put_number(r, "sqnr_made_db", row->sqnr_made);
        put_number(r, "sqnr_db", row->sqnr);
        takt_report_pair(r, "cause", takt_cause_words[row->cause]);
        if (row->detail != NULL)
            takt_report_pair(r, "detail", row->detail);
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

takt_status takt_diff_report(takt_diff_work *w, bool all, takt_format format, takt_sink_fn *sink,
                             void *user, takt_diff_summary *summary)
{
    takt_report r;
    const takt_diff_row *first = first_of(w);
    takt_report_begin(&r, w->ctx, format);
    if (r.is_json)
        write_json(&r, w, all);
    else
        write_text(&r, w, all);
    if (summary != NULL) {
        *summary = (takt_diff_summary){.matched = w->count,
                                       .unmatched = w->unmatched,
                                       .findings = w->findings,
                                       .cause = takt_cause_words[TAKT_CAUSE_NONE]};
        if (first != NULL) {
            summary->cause = takt_cause_words[first->cause];
            snprintf(summary->node, sizeof summary->node, "%s", label(w, first));
        }
    }
    return takt_report_end(&r, TAKT_OK, sink, user);
}
