/* prune_report.c - what pruning removed, and what it gained. */
#include <stdio.h>

#include "base/report.h"
#include "shrink/prune.h"

static double part(double after, double before)
{
    return before > 0 ? after / before : 1;
}

/* ---- text ---- */

static void write_groups(takt_report *rep, const takt_pruning *p)
{
    takt_table t;
    takt_table_init(&t, p->ctx, "lrr");
    takt_table_cell(&t, "channels of");
    takt_table_cell(&t, "before");
    takt_table_cell(&t, "after");
    takt_table_rule(&t);
    for (size_t i = 0; i < p->group_count; i++) {
        takt_table_cell(&t, "%s", p->groups[i].name);
        takt_table_cell(&t, "%zu", p->groups[i].units);
        takt_table_cell(&t, "%zu", p->groups[i].units - p->groups[i].gone);
    }
    takt_table_print(&t, &rep->text);
    takt_table_deinit(&t);
}

static void write_text(takt_report *rep, const takt_pruning *p)
{
    const takt_prune_summary *s = &p->summary;
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    if (!p->o.unstructured)
        write_groups(rep, p);
    else
        takt_text_add(&rep->text, "zeros       %s of %s parameters\n", takt_figure(s->zeros, a),
                      takt_figure(s->parameters_before, b));
    takt_text_add(&rep->text, "parameters  %s before, %s after: %.3f of them\n",
                  takt_figure(s->parameters_before, a), takt_figure(s->parameters_after, b),
                  part((double)s->parameters_after, (double)s->parameters_before));
    takt_text_add(&rep->text, "MACs        %s before, %s after: %.3f of them\n",
                  takt_figure(takt_whole(s->macs_before), a),
                  takt_figure(takt_whole(s->macs_after), b), part(s->macs_after, s->macs_before));
    takt_text_add(&rep->text, "weights     %s before, %s after\n",
                  takt_figure_bytes(s->bytes_before, a), takt_figure_bytes(s->bytes_after, b));
    takt_text_add(&rep->text,
                  "time        %.1f us before, %.1f us after: %.2f of it (%.2f to %.2f), %s\n",
                  s->time.a_ns / 1e3, s->time.b_ns / 1e3, s->time.ratio, s->time.ci.low,
                  s->time.ci.high, takt_verdict_name(s->time.verdict));
    if (p->o.unstructured)
        takt_text_add(&rep->text, "Zeros that lie anywhere are multiplied like other weights here: "
                                  "they gain what the line above says, and a file that is "
                                  "compressed becomes smaller.\n");
}

/* ---- JSON ---- */

static void write_json(takt_report *rep, const takt_pruning *p)
{
    const takt_prune_summary *s = &p->summary;
    takt_report_count(rep, "groups", s->groups);
    takt_report_count(rep, "channels_before", s->channels_before);
    takt_report_count(rep, "channels_after", s->channels_after);
    takt_report_count(rep, "zeros", s->zeros);
    takt_report_count(rep, "parameters_before", s->parameters_before);
    takt_report_count(rep, "parameters_after", s->parameters_after);
    takt_report_count(rep, "bytes_before", s->bytes_before);
    takt_report_count(rep, "bytes_after", s->bytes_after);
    takt_json_put_number(&rep->json, "macs_before", s->macs_before);
    takt_json_put_number(&rep->json, "macs_after", s->macs_after);
    takt_json_put_open(&rep->json, "time", '{');
    takt_json_put_number(&rep->json, "before_ns", s->time.a_ns);
    takt_json_put_number(&rep->json, "after_ns", s->time.b_ns);
    takt_json_put_number(&rep->json, "ratio", s->time.ratio);
    takt_report_pair(rep, "verdict", takt_verdict_name(s->time.verdict));
    takt_json_close(&rep->json, '}');
    takt_json_put_open(&rep->json, "rows", '[');
    for (size_t i = 0; i < p->group_count; i++) {
        takt_json_open(&rep->json, '{');
        takt_report_pair(rep, "layer", p->groups[i].name);
        takt_report_count(rep, "before", p->groups[i].units);
        takt_report_count(rep, "after", p->groups[i].units - p->groups[i].gone);
        takt_json_close(&rep->json, '}');
    }
    takt_json_close(&rep->json, ']');
}

takt_status takt_prune_report(takt_pruning *p, takt_format format, takt_sink_fn *sink, void *user)
{
    takt_report rep;
    takt_report_begin(&rep, p->ctx, format);
    if (rep.is_json)
        write_json(&rep, p);
    else
        write_text(&rep, p);
    return takt_report_end(&rep, TAKT_OK, sink, user);
}
