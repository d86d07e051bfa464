/* impact.c - the effect of each optimisation: one turned off at a time. */
#include <stdio.h>
#include <string.h>
#include <takt/array.h>

#include "base/mem.h"
#include "base/options.h"
#include "measure/session/measure.h"
#include "pass/pass.h"

typedef struct variant {
    const char *name;
    takt_plan_options options;
} variant;

enum { BASE, OTHER, SIDES, BALLAST_PAGES = 1024, PAGE = 4096 };

typedef struct study {
    const takt_model *model;
    takt_ctx *ctx;
    uint64_t max_ns;
    takt_report *r;
    takt_table *t;
    takt_pool *pool; /* of all sessions: workers that wait for one must not disturb another */
    takt_plan *plans[SIDES];
    takt_session *sessions[SIDES];
    takt_plan_info base;
    uint32_t dice;
} study;

/* A session with random inputs. A plan for fewer threads than the pool has creates its own. */
static takt_status open_session(study *s, int side)
{
    takt_plan_info info;
    takt_session **session = &s->sessions[side];
    takt_plan_query(s->plans[side], &info);
    const takt_session_options options = {.pool = info.threads >= s->base.threads ? s->pool : NULL};
    TAKT_TRY(takt_session_create(s->plans[side], &options, session));
    for (size_t i = 0; i < takt_session_input_count(*session); i++) {
        TAKT_TRY(takt_session_random(*session, i, NULL, 0, (uint32_t)i));
    }
    return TAKT_OK;
}

static void close_sessions(study *s)
{
    for (int i = 0; i < SIDES; i++) {
        takt_session_destroy(s->sessions[i]);
        s->sessions[i] = NULL;
    }
}

/* New sessions for every block, each after a random amount of memory that is held meanwhile: the
 * placement of memory can make a difference of one per cent for the life of a session. */
static takt_status renew(void *user, bool b_first, takt_session **a, takt_session **b)
{
    study *s = user;
    close_sessions(s);
    s->dice = s->dice * 1664525u + 1013904223u;
    const size_t bytes = (1 + (s->dice >> 8) % BALLAST_PAGES) * PAGE + (s->dice >> 20) % 64 * 64;
    void *ballast = NULL;
    takt_status status = takt_mem_get(s->ctx, bytes, "an offset", &ballast);
    for (size_t i = 0; status == TAKT_OK && i < bytes; i += PAGE)
        ((unsigned char *)ballast)[i] = 1; /* untouched pages are not allocated */
    if (status == TAKT_OK)
        status = open_session(s, b_first ? OTHER : BASE);
    if (status == TAKT_OK)
        status = open_session(s, b_first ? BASE : OTHER);
    takt_mem_put(s->ctx, ballast, ballast != NULL ? bytes : 0);
    *a = s->sessions[BASE];
    *b = s->sessions[OTHER];
    return status;
}

static void number(const study *s, const char *key, double value)
{
    takt_json_put_number(&s->r->json, key, value);
}

static void say_json(const study *s, const variant *v, const takt_comparison *c,
                     const takt_plan_info *info)
{
    takt_json_open(&s->r->json, '{');
    takt_report_pair(s->r, "without", v->name);
    number(s, "ratio", c->ratio);
    takt_json_put_open(&s->r->json, "ci95", '[');
    takt_json_number(&s->r->json, c->ci.low);
    takt_json_number(&s->r->json, c->ci.high);
    takt_json_close(&s->r->json, ']');
    takt_report_pair(s->r, "verdict", takt_verdict_name(c->verdict));
    number(s, "before_us", c->a_ns * 1e-3);
    number(s, "median_us", c->b_ns * 1e-3);
    takt_report_count(s->r, "before_peak_bytes", s->base.peak);
    takt_report_count(s->r, "peak_bytes", info->peak);
    takt_report_count(s->r, "steps", info->steps);
    takt_json_close(&s->r->json, '}');
}

static void say(const study *s, const variant *v, const takt_comparison *c,
                const takt_plan_info *info)
{
    char a[TAKT_FIGURE_TEXT];
    if (s->r->is_json) {
        say_json(s, v, c, info);
        return;
    }
    const double more = (double)info->peak / (double)(s->base.peak + !s->base.peak);
    takt_table_cell(s->t, "%s", v->name);
    takt_table_cell(s->t, "%s", takt_figure_time(c->a_ns, a));
    takt_table_cell(s->t, "%s", takt_figure_time(c->b_ns, a));
    takt_table_cell(s->t, "%+.1f %%", 100 * (c->ratio - 1));
    takt_table_cell(s->t, "%s", takt_verdict_name(c->verdict));
    takt_table_cell(s->t, "%s", takt_figure_bytes(info->peak, a));
    takt_table_cell(s->t, "%+.1f %%", 100 * (more - 1));
    takt_table_cell(s->t, "%zu", info->steps);
}

/* The same steps over the same graph in the same memory: there is nothing to measure. */
static bool is_same_step(const takt_step *a, const takt_step *b)
{
    const char *x = a->kernel != NULL ? a->kernel : "", *y = b->kernel != NULL ? b->kernel : "";
    return a->run == b->run && strcmp(x, y) == 0 && a->task_count == b->task_count;
}

/* The next buffer from `i` on that is not a constant. A plan that shares constants with another
 * has fewer of them. */
static size_t next_buffer(const takt_plan *p, size_t i)
{
    while (i < p->buffer_count && p->buffers[i].place == TAKT_PLACE_CONSTANT)
        i++;
    return i;
}

static bool is_same_memory(const takt_plan *a, const takt_plan *b)
{
    size_t i = next_buffer(a, 0), k = next_buffer(b, 0);
    for (; i < a->buffer_count && k < b->buffer_count;
         i = next_buffer(a, i + 1), k = next_buffer(b, k + 1))
        if (a->buffers[i].place != b->buffers[k].place ||
            a->buffers[i].offset != b->buffers[k].offset)
            return false;
    return i == a->buffer_count && k == b->buffer_count;
}

static bool is_unused(const study *s)
{
    const takt_plan *a = s->plans[BASE], *b = s->plans[OTHER];
    bool equal = a != NULL && a->step_count == b->step_count && a->threads == b->threads &&
                 a->arena_bytes == b->arena_bytes && is_same_memory(a, b) &&
                 takt_graph_digest(a->graph) == takt_graph_digest(b->graph);
    for (size_t i = 0; equal && i < a->step_count; i++)
        equal = is_same_step(&a->steps[i], &b->steps[i]);
    return equal;
}

static void say_unused(const study *s, const variant *v)
{
    if (s->r->is_json) {
        takt_json_open(&s->r->json, '{');
        takt_report_pair(s->r, "without", v->name);
        takt_report_pair(s->r, "verdict", "unused");
        takt_json_close(&s->r->json, '}');
        return;
    }
    takt_table_cell(s->t, "%s", v->name);
    for (int i = 0; i < 3; i++)
        takt_table_cell(s->t, "%s", "");
    takt_table_cell(s->t, "%s", "unused");
    for (int i = 0; i < 3; i++)
        takt_table_cell(s->t, "%s", "");
}

/* Runs alternately with the plan that has everything on. */
static takt_status compare(study *s, const variant *v)
{
    const takt_compare_options options = {.max_ns = s->max_ns, .renew = renew, .user = s};
    takt_session *a, *b;
    takt_plan_info info;
    takt_comparison c;
    takt_plan_query(s->plans[OTHER], &info);
    takt_status status = renew(s, false, &a, &b);
    if (status == TAKT_OK)
        status = takt_session_compare(a, b, &options, &c);
    for (int i = 0; i < SIDES && status != TAKT_OK; i++)
        if (s->sessions[i] != NULL && s->sessions[i]->error.status == status)
            takt_fail(s->ctx, (takt_error_id)s->sessions[i]->error.id, "%s",
                      s->sessions[i]->error.message);
    if (status == TAKT_OK)
        say(s, v, &c, &info);
    close_sessions(s);
    return status;
}

static takt_status try_and_say(study *s, const variant *v, bool may_be_unused)
{
    takt_status status = TAKT_OK;
    TAKT_TRY(takt_plan_create(s->model, &v->options, &s->plans[OTHER]));
    if (may_be_unused && is_unused(s))
        say_unused(s, v);
    else
        status = compare(s, v);
    takt_plan_destroy(s->plans[OTHER]);
    s->plans[OTHER] = NULL;
    return status;
}

/* Everything that has its own switch. */
static takt_status try_switches(study *s, const takt_plan_options *base)
{
    variant v = {.name = "fusion", .options = *base};
    v.options.passes = "-fuse";
    TAKT_TRY(try_and_say(s, &v, true));
    v = (variant){.name = "planner (no value shares memory)", .options = *base};
    v.options.no_reuse = true;
    TAKT_TRY(try_and_say(s, &v, true));
    v = (variant){.name = "in-place results", .options = *base};
    v.options.no_in_place = true;
    TAKT_TRY(try_and_say(s, &v, true));
    v = (variant){.name = "vector code (SIMD)", .options = *base};
    v.options.isa = "scalar";
    TAKT_TRY(try_and_say(s, &v, true));
    v = (variant){.name = "threads (1)", .options = *base};
    v.options.threads = 1;
    TAKT_TRY(try_and_say(s, &v, true));
    v = (variant){.name = "everything (-O0)", .options = *base};
    v.options.level = -1;
    return try_and_say(s, &v, true);
}

static takt_status try_passes(study *s, const takt_plan_options *base)
{
    for (size_t i = 0; i < takt_pipeline_count(); i++) {
        char passes[96];
        const char *name = takt_pipeline_pass(i)->name;
        variant v = {.name = name, .options = *base};
        if (snprintf(passes, sizeof passes, "-%s", name) >= (int)sizeof passes)
            continue;
        v.options.passes = passes;
        TAKT_TRY(try_and_say(s, &v, true));
    }
    return TAKT_OK;
}

static takt_status examine(study *s, const takt_plan_options *options)
{
    static const char *const head[] = {"without", "before", "after",  "change",
                                       "",        "memory", "change", "steps"};
    const variant all = {.name = "nothing", .options = *options};
    char a[TAKT_FIGURE_TEXT];
    TAKT_TRY(takt_plan_create(s->model, options, &s->plans[BASE]));
    takt_plan_query(s->plans[BASE], &s->base);
    if (s->base.threads > 1)
        TAKT_TRY(takt_pool_open(s->ctx, s->base.threads, &s->pool));
    for (size_t i = 0; i < 8 && !s->r->is_json; i++)
        takt_table_cell(s->t, "%s", head[i]);
    if (!s->r->is_json)
        takt_table_rule(s->t);
    TAKT_TRY(try_and_say(s, &all, false));
    TAKT_TRY(try_passes(s, options));
    TAKT_TRY(try_switches(s, options));
    if (!s->r->is_json) {
        takt_text_add(&s->r->text,
                      "peak memory before: %s; every row alternates with "
                      "everything on; unused: the plan is the same\n\n",
                      takt_figure_bytes(s->base.peak, a));
        takt_table_print(s->t, &s->r->text);
    }
    return s->t->status;
}

takt_status takt_profile_impact(const takt_model *model, const takt_plan_options *options,
                                uint64_t max_ns, takt_format format, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, sink);
    takt_plan_options o;
    takt_report r;
    takt_table t;
    study s = {.model = model,
               .ctx = model->ctx,
               .max_ns = max_ns > 0 ? max_ns : 100000000,
               .r = &r,
               .t = &t,
               .dice = 1};
    TAKT_TRY(takt_options_read(s.ctx, "takt_plan_options", options, &o, sizeof o));
    takt_report_begin(&r, s.ctx, format);
    takt_table_init(&t, s.ctx, "lrrrlrrr");
    if (r.is_json) {
        takt_json_put_open(&r.json, "impact", '[');
    }
    const takt_status status = examine(&s, &o);
    if (r.is_json)
        takt_json_close(&r.json, ']');
    takt_table_deinit(&t);
    takt_plan_destroy(s.plans[BASE]);
    takt_pool_close(s.pool);
    return takt_report_end(&r, status, sink, user);
}
