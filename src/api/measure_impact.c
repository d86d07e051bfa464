/* measure_impact.c - what each optimisation is worth: one thing off at a time. */
#include <stdio.h>
#include <takt/array.h>

#include "api/measure.h"
#include "base/options.h"
#include "pass/pass.h"

typedef struct variant {
    const char *name;
    takt_plan_options options;
} variant;

typedef struct study {
    const takt_model *model;
    takt_ctx *ctx;
    uint64_t max_ns;
    takt_report *r;
    takt_table *t;
    takt_pool *pool; /* of all sessions: workers that wait for one must not disturb another */
    takt_session *base;
    takt_plan_info base_info;
} study;

/* A session with random inputs, and what its plan says. */
static takt_status open_session(const study *s, const variant *v, takt_session **session,
                                takt_plan_info *info)
{
    const takt_session_options options = {.pool = s->pool};
    takt_plan *plan;
    *session = NULL;
    TAKT_TRY(takt_plan_create(s->model, &v->options, &plan));
    takt_plan_query(plan, info);
    const takt_status status = takt_session_create(plan, &options, session);
    takt_plan_destroy(plan);
    TAKT_TRY(status);
    for (size_t i = 0; i < takt_session_input_count(*session); i++) {
        const takt_tensor_view *view = takt_session_input(*session, i);
        if (view == NULL)
            return TAKT_ERR_MEMORY;
        TAKT_TRY(takt_view_random(s->ctx, view, 0, (uint32_t)i));
    }
    return TAKT_OK;
}

static void say_json(const study *s, const variant *v, const takt_comparison *c,
                     const takt_plan_info *info)
{
    takt_json_open(&s->r->json, '{');
    takt_report_pair(s->r, "without", v->name);
    takt_json_key(&s->r->json, "ratio");
    takt_json_number(&s->r->json, c->ratio);
    takt_json_key(&s->r->json, "ci95");
    takt_json_open(&s->r->json, '[');
    takt_json_number(&s->r->json, c->ci.low);
    takt_json_number(&s->r->json, c->ci.high);
    takt_json_close(&s->r->json, ']');
    takt_report_pair(s->r, "verdict", takt_verdict_name(c->verdict));
    takt_json_key(&s->r->json, "median_us");
    takt_json_number(&s->r->json, c->b_ns * 1e-3);
    takt_report_count(s->r, "peak_bytes", info->peak);
    takt_report_count(s->r, "steps", info->steps);
    takt_json_close(&s->r->json, '}');
}

static void say(const study *s, const variant *v, const takt_comparison *c,
                const takt_plan_info *info)
{
    char a[TAKT_FIGURE_TEXT], b[TAKT_FIGURE_TEXT];
    if (s->r->is_json) {
        say_json(s, v, c, info);
        return;
    }
    const double more = (double)info->peak / (double)(s->base_info.peak + !s->base_info.peak);
    takt_table_cell(s->t, "%s", v->name);
    takt_table_cell(s->t, "%s", takt_figure_time(c->b_ns, a));
    takt_table_cell(s->t, "%+.1f %%", 100 * (c->ratio - 1));
    takt_table_cell(s->t, "%s", takt_verdict_name(c->verdict));
    takt_table_cell(s->t, "%s", takt_figure_bytes(info->peak, b));
    takt_table_cell(s->t, "%+.1f %%", 100 * (more - 1));
    takt_table_cell(s->t, "%zu", info->steps);
}

/* Runs in turns with the session that has everything on. */
static takt_status try_and_say(const study *s, const variant *v)
{
    const takt_compare_options options = {.max_ns = s->max_ns};
    takt_session *session;
    takt_plan_info info;
    takt_comparison c;
    takt_status status = open_session(s, v, &session, &info);
    if (status == TAKT_OK)
        status = takt_session_compare(s->base, session, &options, &c);
    if (status == TAKT_OK)
        say(s, v, &c, &info);
    else if (session != NULL && session->error.status == status)
        takt_fail(s->ctx, (takt_error_id)session->error.id, "%s", session->error.message);
    takt_session_destroy(session);
    return status;
}

/* Everything that is a switch of its own. */
static takt_status try_switches(const study *s, const takt_plan_options *base)
{
    variant v = {.name = "threads (1)", .options = *base};
    v.options.threads = 1;
    TAKT_TRY(try_and_say(s, &v));
    v = (variant){.name = "fusion", .options = *base};
    v.options.passes = "-fuse";
    TAKT_TRY(try_and_say(s, &v));
    v = (variant){.name = "vector code", .options = *base};
    v.options.isa = "scalar";
    TAKT_TRY(try_and_say(s, &v));
    v = (variant){.name = "reuse of memory", .options = *base};
    v.options.no_reuse = true;
    TAKT_TRY(try_and_say(s, &v));
    v = (variant){.name = "everything (-O0)", .options = *base};
    v.options.level = -1;
    return try_and_say(s, &v);
}

static takt_status try_passes(const study *s, const takt_plan_options *base)
{
    for (size_t i = 0; i < takt_pipeline_count(); i++) {
        char passes[96];
        const char *name = takt_pipeline_pass(i)->name;
        variant v = {.name = name, .options = *base};
        if (snprintf(passes, sizeof passes, "-%s", name) >= (int)sizeof passes)
            continue;
        v.options.passes = passes;
        TAKT_TRY(try_and_say(s, &v));
    }
    return TAKT_OK;
}

static takt_status examine(study *s, const takt_plan_options *options)
{
    static const char *const head[] = {"without", "time",   "change", "",
                                       "memory",  "change", "steps"};
    const variant all = {.name = "nothing", .options = *options};
    TAKT_TRY(takt_pool_open(s->ctx, options->threads, &s->pool));
    TAKT_TRY(open_session(s, &all, &s->base, &s->base_info));
    for (size_t i = 0; i < 7 && !s->r->is_json; i++)
        takt_table_cell(s->t, "%s", head[i]);
    if (!s->r->is_json)
        takt_table_rule(s->t);
    TAKT_TRY(try_and_say(s, &all));
    TAKT_TRY(try_passes(s, options));
    TAKT_TRY(try_switches(s, options));
    if (!s->r->is_json)
        takt_table_print(s->t, &s->r->text);
    return s->t->status;
}

takt_status takt_profile_impact(const takt_model *model, const takt_plan_options *options,
                                uint64_t max_ns, takt_format format, takt_sink_fn *sink, void *user)
{
    takt_plan_options o;
    takt_report r;
    takt_table t;
    study s = {.model = model,
               .ctx = model->ctx,
               .max_ns = max_ns > 0 ? max_ns : 100000000,
               .r = &r,
               .t = &t};
    TAKT_TRY(takt_options_read(s.ctx, "takt_plan_options", options, &o, sizeof o));
    takt_report_begin(&r, s.ctx, format);
    takt_table_init(&t, s.ctx, "lrrlrrr");
    if (r.is_json) {
        takt_json_key(&r.json, "impact");
        takt_json_open(&r.json, '[');
    }
    const takt_status status = examine(&s, &o);
    if (r.is_json)
        takt_json_close(&r.json, ']');
    takt_table_deinit(&t);
    takt_session_destroy(s.base);
    takt_pool_close(s.pool);
    return takt_report_end(&r, status, sink, user);
}
