/* recorder_report.c - what was recorded between start and stop: table, trace and folded stacks. */
#include <math.h>

#include "measure/monitor/recorder.h"
#include "measure/session/measure.h"

static void json(const takt_profile_results *p, takt_report *r)
{
    takt_report_count(r, "total_ns", p->total_ns);
    takt_report_count(r, "allocations", p->allocations);
    takt_report_count(r, "moves", p->moves);
    takt_report_count(r, "bytes", p->bytes);
    takt_report_count(r, "dropped", p->dropped);
    takt_json_put_open(&r->json, "ops", '[');
    for (size_t i = 0; i < p->op_count; i++) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "name", p->ops[i].name);
        takt_report_count(r, "count", p->ops[i].count);
        takt_json_put_number(&r->json, "total_ns", p->ops[i].total_ns);
        takt_json_put_number(&r->json, "avg_ns", p->ops[i].avg_ns);
        takt_json_put_number(&r->json, "min_ns", p->ops[i].min_ns);
        takt_json_put_number(&r->json, "max_ns", p->ops[i].max_ns);
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

static void table(const takt_profile_results *p, takt_report *r)
{
    static const char *const head[] = {"op", "count", "total", "avg", "min", "max"};
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    takt_table t;
    takt_text_add(&r->text, "Total time: %s\n", takt_figure_time((double)p->total_ns, a));
    takt_text_add(&r->text, "Memory operations: %llu (%llu allocations, %llu moves; %s)\n\n",
                  (unsigned long long)(p->allocations + p->moves),
                  (unsigned long long)p->allocations, (unsigned long long)p->moves,
                  takt_figure_bytes(p->bytes, b));
    takt_table_init(&t, r->ctx, "lrrrrr");
    for (size_t i = 0; i < 6; i++)
        takt_table_cell(&t, "%s", head[i]);
    takt_table_rule(&t);
    for (size_t i = 0; i < p->op_count; i++) {
        const takt_op_times *o = &p->ops[i];
        const double times[] = {o->total_ns, o->avg_ns, o->min_ns, o->max_ns};
        takt_table_cell(&t, "%s", o->name);
        takt_table_cell(&t, "%llu", (unsigned long long)o->count);
        for (size_t k = 0; k < 4; k++)
            takt_table_cell(&t, "%s", takt_figure_time(times[k], a));
    }
    takt_table_print(&t, &r->text);
    r->text.status = t.status != TAKT_OK ? t.status : r->text.status;
    takt_table_deinit(&t);
    if (p->dropped > 0)
        takt_text_add(&r->text, "%llu calls more are in no event of the trace\n",
                      (unsigned long long)p->dropped);
}

static takt_status trace(takt_ctx *ctx, const takt_profile_results *p, takt_sink_fn *sink,
                         void *user)
{
    takt_text text;
    takt_json_writer w;
    takt_text_init(&text, ctx);
    takt_json_begin(&w, &text, false);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "displayTimeUnit", "ns");
    takt_json_put_open(&w, "traceEvents", '[');
    for (size_t i = 0; i < p->event_count; i++) {
        const takt_profile_event *e = &p->events[i];
        takt_json_open(&w, '{');
        takt_json_put_string(&w, "name", e->name);
        takt_json_put_string(&w, "cat", p->ops[e->op].name);
        takt_json_put_string(&w, "ph", "X");
        takt_json_put_number(&w, "ts", (double)e->start_ns * 1e-3);
        takt_json_put_number(&w, "dur", (double)e->ns * 1e-3);
        takt_json_put_number(&w, "pid", 1);
        takt_json_put_number(&w, "tid", e->thread);
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    takt_text_put(&text, "\n", 1);
    return takt_sink_text(ctx, &text, sink, user);
}

/* Semicolons and line ends in names would break the format. */
static takt_status folded(takt_ctx *ctx, const takt_profile_results *p, takt_sink_fn *sink,
                          void *user)
{
    takt_text text;
    takt_text_init(&text, ctx);
    for (size_t i = 0; i < p->op_count; i++) {
        takt_text_add(&text, "program;");
        for (const char *at = p->ops[i].name; *at != '\0'; at++)
            takt_text_put(&text, *at == ';' || *at == '\n' ? "," : at, 1);
        takt_text_add(&text, " %.0f\n", fmax(1, p->ops[i].total_ns));
    }
    return takt_sink_text(ctx, &text, sink, user);
}

takt_status takt_profile_results_print(takt_ctx *ctx, const takt_profile_results *p,
                                       takt_profile_view view, takt_format format,
                                       takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, p);
    TAKT_NEED(ctx, sink);
    takt_report r;
    if (view == TAKT_PROFILE_TRACE)
        return trace(ctx, p, sink, user);
    if (view == TAKT_PROFILE_FOLDED)
        return folded(ctx, p, sink, user);
    takt_report_begin(&r, ctx, format);
    if (r.is_json)
        json(p, &r);
    else
        table(p, &r);
    return takt_report_end(&r, TAKT_OK, sink, user);
}
