/* lowrank_report.c - what became two factors, layer by layer. */
#include "base/report.h"
#include "shrink/lowrank.h"

static void write_text(takt_report *rep, const takt_lowrank *w)
{
    static const char *const heads[] = {"layer",  "matrix", "rank",  "left out",
                                        "before", "after",  "ratio", "verdict"};
    const takt_lowrank_summary *s = &w->summary;
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    takt_table t;
    takt_table_init(&t, w->ctx, "llrrrrrl");
    for (size_t i = 0; i < 8; i++)
        takt_table_cell(&t, "%s", heads[i]);
    takt_table_rule(&t);
    for (size_t i = 0; i < w->layers.count; i++) {
        const takt_shrink_layer *l = &w->layers.at[i];
        const takt_factors *f = &w->of[i];
        takt_table_cell(&t, "%s", l->name);
        takt_table_cell(&t, "%lld x %lld", (long long)l->rows, (long long)l->inner);
        takt_table_cell(&t, "%lld", (long long)f->rank);
        takt_table_cell(&t, "%.3g", f->error);
        if (f->time.a_ns > 0) {
            takt_table_cell(&t, "%.1f us", f->time.a_ns / 1e3);
            takt_table_cell(&t, "%.1f us", f->time.b_ns / 1e3);
            takt_table_cell(&t, "%.2f", f->time.ratio);
        } else { /* rejected without measuring */
            for (size_t k = 0; k < 3; k++)
                takt_table_cell(&t, "-");
        }
        takt_table_cell(&t, "%s", f->why);
    }
    takt_table_print(&t, &rep->text);
    takt_table_deinit(&t);
    takt_text_add(&rep->text, "layers      %zu of %zu as two factors\n", s->taken, s->layers);
    takt_text_add(&rep->text, "parameters  %s before, %s after\n",
                  takt_figure(s->parameters_before, a), takt_figure(s->parameters_after, b));
    if (s->taken > 0)
        takt_text_add(&rep->text, "time        %.1f us before, %.1f us after: %.2f of it, %s\n",
                      s->time.a_ns / 1e3, s->time.b_ns / 1e3, s->time.ratio,
                      takt_verdict_name(s->time.verdict));
}

static void write_json(takt_report *rep, const takt_lowrank *w)
{
    const takt_lowrank_summary *s = &w->summary;
    takt_report_count(rep, "layers", s->layers);
    takt_report_count(rep, "taken", s->taken);
    takt_report_count(rep, "parameters_before", s->parameters_before);
    takt_report_count(rep, "parameters_after", s->parameters_after);
    takt_json_put_number(&rep->json, "ratio", s->time.ratio);
    if (s->taken > 0)
        takt_report_pair(rep, "verdict", takt_verdict_name(s->time.verdict));
    takt_json_put_open(&rep->json, "rows", '[');
    for (size_t i = 0; i < w->layers.count; i++) {
        const takt_factors *f = &w->of[i];
        takt_json_open(&rep->json, '{');
        takt_report_pair(rep, "layer", w->layers.at[i].name);
        takt_report_count(rep, "rank", (uint64_t)f->rank);
        takt_json_put_number(&rep->json, "left_out", f->error);
        takt_json_put_number(&rep->json, "before_ns", f->time.a_ns);
        takt_json_put_number(&rep->json, "after_ns", f->time.b_ns);
        takt_json_put_bool(&rep->json, "taken", f->taken);
        takt_report_pair(rep, "why", f->why);
        takt_json_close(&rep->json, '}');
    }
    takt_json_close(&rep->json, ']');
}

takt_status takt_lowrank_report(const takt_lowrank *w, takt_format format, takt_sink_fn *sink,
                                void *user)
{
    takt_report rep;
    takt_report_begin(&rep, w->ctx, format);
    if (rep.is_json)
        write_json(&rep, w);
    else
        write_text(&rep, w);
    return takt_report_end(&rep, TAKT_OK, sink, user);
}
