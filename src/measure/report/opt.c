/* opt.c - a model's graph as text, before and after the passes, and the passes themselves.
 */
#include <string.h>

#include "api/opts.h"
#include "base/options.h"
#include "measure/report/report.h"
#include "pass/pass.h"

takt_status takt_model_print(const takt_model *m, bool elide, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, m);
    TAKT_NEED(NULL, sink);
    const takt_print_options options = {.elide = elide};
    takt_text text;
    takt_text_init(&text, m->ctx);
    takt_graph_print(m->graph, &options, &text);
    return takt_sink_text(m->ctx, &text, sink, user);
}

typedef struct stages {
    const takt_opt_options *options;
    takt_print_options print;
    size_t index;
} stages;

static takt_status watch(void *user, const takt_pass *pass, const takt_graph *g)
{
    stages *s = user;
    if (s->options->each == NULL)
        return TAKT_OK;
    takt_text text;
    takt_text_init(&text, g->ctx);
    takt_graph_print(g, &s->print, &text);
    takt_status status = text.status;
    if (status == TAKT_OK)
        status =
            s->options->each(s->options->each_user, s->index++, pass->name, takt_text_get(&text));
    takt_text_deinit(&text);
    return status;
}

/* The model with the given sizes substituted, its parameters frozen unless they may change. */
static takt_status size_model(const takt_model *m, const char *text, bool trainable,
                              takt_graph **out)
{
    takt_arena arena;
    takt_arena_init(&arena, m->ctx);
    int64_t *sizes;
    size_t count;
    takt_status status = takt_parse_sizes(m->ctx, &arena, m->graph->dims, text, &sizes, &count);
    if (status == TAKT_OK)
        status = takt_graph_specialize(m->graph, sizes, count, out);
    takt_arena_deinit(&arena);
    if (status != TAKT_OK || trainable)
        return status;
    takt_graph *sized = *out;
    status = takt_graph_freeze(sized, m->slots, out);
    takt_graph_destroy(sized);
    return status;
}

/* ---- the trace ---- */

static void trace_text(takt_report *r, const takt_pass_report *p)
{
    takt_text_add(&r->text, "# %zu rule%s fired, %zu refused\n", p->fired, p->fired == 1 ? "" : "s",
                  p->refused);
    for (const takt_pass_event *e = p->first; e != NULL; e = e->next) {
        takt_text_add(&r->text, "# %s: %s: %s%s%s\n", e->pass, e->node, e->law,
                      e->refused != NULL ? ": refused: " : "",
                      e->refused != NULL ? e->refused : "");
    }
}

static void trace_json(takt_report *r, const takt_pass_report *p)
{
    takt_report_count(r, "fired", p->fired);
    takt_report_count(r, "refused", p->refused);
    takt_json_put_open(&r->json, "events", '[');
    for (const takt_pass_event *e = p->first; e != NULL; e = e->next) {
        takt_json_open(&r->json, '{');
        takt_report_pair(r, "pass", e->pass);
        takt_report_pair(r, "law", e->law);
        takt_report_pair(r, "node", e->node);
        takt_report_pair(r, "refused", e->refused);
        takt_json_close(&r->json, '}');
    }
    takt_json_close(&r->json, ']');
}

static takt_status run_passes(const takt_model *m, const takt_opt_options *o,
                              takt_pass_report *report, stages *s, takt_graph **out)
{
    takt_pipeline_options pipeline = {.report = report, .watch = watch, .watch_user = s};
    TAKT_TRY(takt_pass_choose(m->ctx, o->passes, &pipeline.choice));
    takt_graph *sized;
    TAKT_TRY(size_model(m, o->sizes, o->trainable, &sized));
    const takt_status status = takt_pipeline_run(m->ctx, sized, &pipeline, out);
    takt_graph_destroy(sized);
    return status;
}

/* The graph of a plan, and the passes that produced it. */
static takt_status run_planned(const takt_model *m, const takt_plan_options *options,
                               takt_pass_report *report, takt_graph **out)
{
    takt_plan_options o;
    takt_plan_settings settings = {0};
    TAKT_TRY(takt_options_read(m->ctx, "takt_plan_options", options, &o, sizeof o));
    TAKT_TRY(takt_plan_settle(m, &o, &settings));
    takt_basis *basis; /* none: the passes run for the report */
    const takt_plan_request request = {m, &o, &settings, report};
    return takt_plan_graph(&request, out, &basis);
}

static void write_graph(takt_report *r, const takt_graph *g, const takt_print_options *print)
{
    takt_text text;
    if (!r->is_json) {
        takt_graph_print(g, print, &r->text);
        return;
    }
    takt_text_init(&text, r->ctx);
    takt_graph_print(g, print, &text);
    takt_report_count(r, "nodes", g->count);
    takt_report_pair(r, "graph", takt_text_get(&text));
    r->text.status = text.status != TAKT_OK ? text.status : r->text.status;
    takt_text_deinit(&text);
}

takt_status takt_model_optimize(const takt_model *m, const takt_opt_options *options,
                                takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, m);
    TAKT_NEED(NULL, sink);
    takt_opt_options given;
    const takt_opt_options *o = &given;
    TAKT_TRY(takt_options_read(m->ctx, "takt_opt_options", options, &given, sizeof given));
    stages s = {.options = o, .print = {.elide = !o->full, .types = o->types}};
    takt_pass_report report;
    takt_graph *g = NULL;
    takt_report r;
    takt_pass_report_init(&report, m->ctx);
    takt_report_begin(&r, m->ctx, format);
    const takt_status status =
        o->plan != NULL ? run_planned(m, o->plan, &report, &g) : run_passes(m, o, &report, &s, &g);
    if (status == TAKT_OK) {
        if ((o->trace || o->only_trace) && !r.is_json)
            trace_text(&r, &report);
        else if (o->trace || o->only_trace)
            trace_json(&r, &report);
        if (!o->only_trace)
            write_graph(&r, g, &s.print);
    }
    takt_graph_destroy(g);
    takt_pass_report_deinit(&report);
    return takt_report_end(&r, status, sink, user);
}

/* ---- the list ---- */

static void pass_json(takt_report *r, size_t index)
{
    const takt_pass *p = takt_pipeline_pass(index);
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "name", p->name);
    takt_report_pair(r, "summary", p->summary);
    takt_report_pair(r, "licence", p->licence);
    takt_report_pair(r, "place", takt_pipeline_reason(index));
    takt_json_put_open(&r->json, "laws", '[');
    for (size_t i = 0; i < p->rule_count; i++)
        takt_json_string(&r->json, p->rules[i].law);
    takt_json_close(&r->json, ']');
    takt_json_close(&r->json, '}');
}

static void pass_text(takt_report *r, size_t index)
{
    const takt_pass *p = takt_pipeline_pass(index);
    takt_text_add(&r->text, "%s: %s\n", p->name, p->summary);
    takt_text_add(&r->text, "  place:   %s\n", takt_pipeline_reason(index));
    takt_text_add(&r->text, "  licence: %s\n",
                  p->licence != NULL ? p->licence : "none: the same bits on and off");
    for (size_t i = 0; i < p->rule_count; i++)
        takt_text_add(&r->text, "  law:     %s\n", p->rules[i].law);
}

/* Done by the plan, but chosen like a pass. */
static void fuse_row(takt_report *r)
{
    static const char summary[] =
        "several nodes into one step; fuse:min-gain=1.5 leaves alone what "
        "is estimated to gain less";
    static const char place[] = "the plan does it, after all passes";
    if (!r->is_json) {
        takt_text_add(&r->text,
                      "fuse: %s\n  place:   %s\n  licence: none: the same bits on and off\n",
                      summary, place);
        return;
    }
    takt_json_open(&r->json, '{');
    takt_report_pair(r, "name", "fuse");
    takt_report_pair(r, "summary", summary);
    takt_report_pair(r, "licence", NULL);
    takt_report_pair(r, "place", place);
    takt_json_put_open(&r->json, "laws", '[');
    takt_json_close(&r->json, ']');
    takt_json_close(&r->json, '}');
}

takt_status takt_pass_list(takt_ctx *ctx, takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, sink);
    takt_report r;
    takt_report_begin(&r, ctx, format);
    if (r.is_json) {
        takt_json_put_open(&r.json, "passes", '[');
    }
    for (size_t i = 0; i < takt_pipeline_count(); i++) {
        if (r.is_json)
            pass_json(&r, i);
        else
            pass_text(&r, i);
    }
    fuse_row(&r);
    if (r.is_json)
        takt_json_close(&r.json, ']');
    return takt_report_end(&r, TAKT_OK, sink, user);
}
