/* doctor.c - causes of slow runs, high memory use and low rates, found by removing each. */
#include "doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *tool_figure_time(double ns, char to[static TAKT_TIME_TEXT])
{
    const double scale = ns < 1e6 ? 1e-3 : ns < 1e9 ? 1e-6 : 1e-9;
    snprintf(to, TAKT_TIME_TEXT, "%.4g %s", ns * scale, ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s");
    return to;
}

tool_finding *tool_finding_add(tool_patient *p, const char *cause, double gain)
{
    tool_finding *f = &p->findings[p->count < TAKT_FINDINGS ? p->count++ : TAKT_FINDINGS - 1];
    *f = (tool_finding){.cause = cause, .gain = gain};
    return f;
}

#define SAY(where, ...) (void)snprintf((where), TAKT_FINDING_TEXT, __VA_ARGS__)

static takt_session *open_session(tool_patient *p, const takt_plan_options *o)
{
    const takt_session_options options = {.pool =
                                              o->threads == p->options.threads ? p->pool : NULL};
    takt_plan *plan = NULL;
    takt_session *s = NULL;
    if (takt_plan_create(p->model, o, &plan) != TAKT_OK ||
        takt_session_create(plan, &options, &s) != TAKT_OK ||
        tool_fill_inputs(p->t, s) != TAKT_EXIT_OK) {
        takt_session_destroy(s);
        s = NULL;
    }
    takt_plan_destroy(plan);
    return s;
}

bool tool_try(tool_patient *p, const takt_plan_options *o, double scale, tool_trial *trial)
{
    const takt_compare_options options = {.max_ns = 2 * p->max_ns};
    takt_session *s = open_session(p, o);
    takt_comparison c;
    const bool good =
        s != NULL && takt_session_compare(p->base, s, &options, &c) == TAKT_OK && c.a_ns > 0;
    if (good)
        *trial = (tool_trial){.now_ns = c.a_ns,
                              .then_ns = c.b_ns,
                              .gain = c.ci.high * scale < 0.98 ? 1 - c.ratio * scale : 0};
    takt_session_destroy(s);
    return good;
}

/* Marks times of a trial that look better but may be due to chance. */
static const char *doubt(const tool_trial *x, double scale)
{
    return x->gain == 0 && x->then_ns * scale < 0.95 * x->now_ns ? ", which may be chance" : "";
}

bool tool_all_on(const tool_patient *p, takt_plan_options *o)
{
    static const uint8_t none[sizeof o->simd];
    const takt_plan_options *now = &p->options;
    const bool off = now->isa != NULL || now->passes != NULL || now->level < 0 ||
                     memcmp(now->simd, none, sizeof none) != 0;
    *o = *now;
    o->isa = o->passes = NULL;
    o->level = 0;
    memset(o->simd, 0, sizeof o->simd);
    return off;
}

bool tool_with_batch(const tool_patient *p, int64_t factor, int64_t divisor, char text[TOOL_SIZES],
                     int64_t *batch)
{
    const char *name = tool_batch_name(p->model);
    const long long size = name != NULL ? tool_size_of(&p->sizes, name) : 1;
    *batch = (size >= 0 ? size : 1) * factor / divisor;
    return name != NULL && *batch > 0 && tool_sizes_with(p->sizes.text, name, *batch, text);
}

/* ---- the whole ---- */

/* The session of the flags, timed. */
static int begin(tool_patient *p)
{
    const takt_timing_options options = {.max_ns = p->max_ns};
    takt_timing timing = {0};
    takt_run_config config;
    takt_plan *plan;
    int code = tool_finish(p->t, takt_plan_create(p->model, &p->options, &plan));
    if (code != TAKT_EXIT_OK)
        return code;
    takt_plan_query(plan, &p->info);
    takt_plan_config(plan, &config);
    snprintf(p->backend, sizeof p->backend, "%s", config.backend);
    takt_session_options session = {0};
    code = tool_finish(p->t, takt_pool_open(p->t->ctx, p->info.threads, &p->pool));
    if (code == TAKT_EXIT_OK) {
        session.pool = p->pool;
        code = tool_finish(p->t, takt_session_create(plan, &session, &p->base));
    }
    takt_plan_destroy(plan);
    if (code == TAKT_EXIT_OK)
        code = tool_fill_inputs(p->t, p->base);
    if (code != TAKT_EXIT_OK)
        return code;
    if (takt_session_time(p->base, &options, &timing) != TAKT_OK)
        code = tool_report_error(p->t, takt_session_error(p->base));
    p->run_ns = timing.stats.median;
    p->copy_ns = timing.copy_ns;
    p->warmup = timing.warmup_runs;
    takt_timing_free(p->t->ctx, &timing);
    return code;
}

int tool_patient_examine(takt_tool *t, int (*look)(tool_patient *p))
{
    int code;
    tool_patient *p = calloc(1, sizeof *p);
    if (p == NULL)
        return tool_finish(t, TAKT_ERR_MEMORY);
    p->t = t;
    takt_model *model = tool_open_model(t, &code);
    if (model != NULL) {
        tool_request r;
        p->model = model;
        p->path = t->arg_count > 0 ? t->args[0] : tool_text_of(t, TAKT_F_MODEL);
        code = !tool_duration(t, TAKT_F_DURATION, 100000000, &p->max_ns) ||
                       !tool_sizes_given(t, model, &p->sizes)
                   ? TAKT_EXIT_USAGE
                   : tool_request_init(t, p->sizes.text, &r);
        if (code == TAKT_EXIT_OK) {
            p->options = r.options;
            code = begin(p);
            if (code == TAKT_EXIT_OK)
                code = look(p);
            takt_session_destroy(p->base);
            takt_pool_close(p->pool);
            tool_request_free(&r);
        }
        takt_model_destroy(model);
    }
    free(p);
    return code;
}

/* ---- time ---- */

static void try_optimised(tool_patient *p)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    takt_plan_options o;
    tool_trial x;
    if (!tool_all_on(p, &o) || !tool_try(p, &o, 1, &x))
        return;
    tool_finding *f = tool_finding_add(p, "optimisations switched off", x.gain);
    SAY(f->figure, "%s now, %s with all passes and vector code%s", tool_figure_time(x.now_ns, a),
        tool_figure_time(x.then_ns, b), doubt(&x, 1));
    SAY(f->remedy, "leave out -O, --isa, --simd and --pass");
}

static void try_threads(tool_patient *p)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    takt_plan_options o = p->options;
    tool_trial x;
    o.threads = p->info.threads > 1 ? 1 : 0;
    if (!tool_try(p, &o, 1, &x))
        return;
    tool_finding *f =
        tool_finding_add(p, o.threads == 1 ? "synchronisation" : "too few threads", x.gain);
    SAY(f->figure, "%s with %d thread%s, %s with %s%s", tool_figure_time(x.now_ns, a),
        p->info.threads, p->info.threads > 1 ? "s" : "", tool_figure_time(x.then_ns, b),
        o.threads == 1 ? "one" : "one per core", doubt(&x, 1));
    SAY(f->remedy, "%s", o.threads == 1 ? "--threads 1" : "leave out --threads");
}

static void try_batch(tool_patient *p)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    char text[TOOL_SIZES];
    int64_t batch, now;
    takt_plan_options o = p->options;
    tool_trial x;
    if (!tool_with_batch(p, 1, 1, text, &now) || !tool_with_batch(p, 16, 1, text, &batch))
        return;
    o.sizes = text;
    if (!tool_try(p, &o, (double)now / (double)batch, &x))
        return;
    tool_finding *f = tool_finding_add(p, "small batches", x.gain);
    SAY(f->figure, "%s a sample at batch %" PRId64 ", %s at %" PRId64 "%s",
        tool_figure_time(x.now_ns / (double)now, a), now,
        tool_figure_time(x.then_ns / (double)batch, b), batch,
        doubt(&x, (double)now / (double)batch));
    SAY(f->remedy, "takt benchmark run %s --batch-size 1-64*2 finds the best", p->path);
}

static void try_backends(tool_patient *p)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    static const char *const names[] = {"cpu", "blas"};
    const char *now = p->backend;
    for (size_t i = 0; i < 2; i++) {
        takt_plan_options o = p->options;
        tool_trial x;
        o.backend = names[i];
        if (strcmp(names[i], now) == 0 || takt_backend_available(names[i]) != NULL ||
            !tool_try(p, &o, 1, &x))
            continue;
        tool_finding *f = tool_finding_add(p, i == 0 ? "not on cpu" : "not on blas", x.gain);
        SAY(f->figure, "%s on %s, %s on %s%s", tool_figure_time(x.now_ns, a), now,
            tool_figure_time(x.then_ns, b), names[i], doubt(&x, 1));
        SAY(f->remedy, "--backend %s", names[i]);
    }
}

/* How far the steps are from the measured ceilings of this machine. */
static void say_distance(tool_patient *p, takt_session *s, const takt_ceilings *ceilings)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    const takt_profile_options options = {.ceilings = ceilings, .max_ns = p->max_ns};
    takt_profile_summary sum;
    takt_profile *profile;
    if (takt_profile_create(s, &options, &profile) != TAKT_OK)
        return;
    takt_profile_summarize(profile, &sum);
    takt_profile_destroy(profile);
    const double ns = sum.latency.median;
    if (sum.floor_ns <= 0 || ns <= 0)
        return;
    tool_finding *f = tool_finding_add(p, "steps below the ceilings", 1 - sum.floor_ns / ns);
    SAY(f->figure, "%s, where this machine's ceilings would allow %s", tool_figure_time(ns, a),
        tool_figure_time(sum.floor_ns, b));
    SAY(f->remedy, "takt profile %s says which step and what bounds it", p->path);
}

static void try_hot(tool_patient *p)
{
    takt_ceilings ceilings;
    if (tool_ceilings(p->t, false, &ceilings) == TAKT_EXIT_OK)
        say_distance(p, p->base, &ceilings);
}

static int ignore(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return 0;
}

/* Governor, debug build, machine load: their share cannot be measured from here. */
static void try_machine(tool_patient *p)
{
    takt_environment e;
    if (takt_environment_check(p->t->ctx, &e, TAKT_FORMAT_TEXT, ignore, NULL) != TAKT_OK)
        return;
    tool_finding *f = tool_finding_add(p, "the machine", e.grade > 'B' || e.grade == '?' ? -1 : 0);
    if (e.grade == '?') {
        SAY(f->figure, "load unknown, %zu finding%s: /proc cannot be read", e.warnings,
            e.warnings == 1 ? "" : "s");
        SAY(f->remedy, "mount /proc: without it the machine's load is unknown");
        return;
    }
    SAY(f->figure, "grade %c, %zu finding%s, load %.1f%s", e.grade, e.warnings,
        e.warnings == 1 ? "" : "s", e.load,
        e.grade > 'B' ? ": all figures are from a busy machine" : "");
    SAY(f->remedy, "takt benchmark verify --env names each with its command");
}

void tool_look_slow(tool_patient *p)
{
    try_optimised(p);
    try_threads(p);
    try_backends(p);
    try_batch(p);
    try_hot(p);
    try_machine(p);
}

/* ---- rate ---- */

static void try_copying(tool_patient *p)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    const double part = p->copy_ns / (p->copy_ns + p->run_ns);
    tool_finding *f = tool_finding_add(p, "data loading", part);
    SAY(f->figure, "copying the inputs takes %s, a run %s", tool_figure_time(p->copy_ns, a),
        tool_figure_time(p->run_ns, b));
    SAY(f->remedy, "takt_session_bind uses your buffers where they lie");
}

void tool_look_throughput(tool_patient *p)
{
    try_threads(p);
    try_copying(p);
    try_batch(p);
    try_optimised(p);
}

/* ---- memory ---- */

/* Memory that the plan would need with other options: nothing runs. */
static void try_plan(tool_patient *p, takt_plan_options *o, const char *cause, const char *remedy)
{
    takt_plan *plan;
    takt_plan_info info;
    o->dry = true;
    o->memory_limit = 0;
    if (takt_plan_create(p->model, o, &plan) != TAKT_OK)
        return;
    takt_plan_query(plan, &info);
    takt_plan_destroy(plan);
    const double now = (double)p->info.peak, then = (double)info.peak;
    tool_finding *f = tool_finding_add(p, cause, now > 0 ? 1 - then / now : 0);
    SAY(f->figure, "peak %.4g MB now, %.4g MB then", now * 1e-6, then * 1e-6);
    SAY(f->remedy, "%s", remedy);
}

/* Memory that runs keep, and memory that is kept only for speed. */
static void try_leak(tool_patient *p)
{
    takt_usage before, after;
    takt_status status = takt_session_run(p->base);
    takt_resource_usage(p->t->ctx, &before);
    for (int i = 0; i < 50 && status == TAKT_OK; i++)
        status = takt_session_run(p->base);
    takt_resource_usage(p->t->ctx, &after);
    if (status != TAKT_OK)
        return;
    const double grown = (double)after.live_bytes - (double)before.live_bytes;
    tool_finding *f = tool_finding_add(p, "a leak", grown > 0 ? -1 : 0);
    SAY(f->figure, "50 runs: %.0f bytes more, %" PRIu64 " allocations", grown,
        after.allocations - before.allocations);
    SAY(f->remedy, "takt_ctx_trim, and destroy what is made in a loop");
}

void tool_look_memory(tool_patient *p)
{
    char text[TOOL_SIZES];
    int64_t batch;
    takt_plan_options o = p->options;
    if (tool_with_batch(p, 1, 2, text, &batch)) {
        char remedy[TAKT_FINDING_TEXT];
        SAY(remedy, "-D %s=%" PRId64, tool_batch_name(p->model), batch);
        o.sizes = text;
        try_plan(p, &o, "large batches", remedy);
    }
    o = p->options;
    o.hint = "memory";
    try_plan(p, &o, "the order of the steps", "--hint memory");
    o = p->options;
    o.threads = 1;
    if (p->info.threads > 1)
        try_plan(p, &o, "scratch of every thread", "--threads 1");
    o = p->options;
    o.passes = NULL;
    o.level = 0;
    try_plan(p, &o, "passes switched off", "leave out -O and --pass");
    try_leak(p);
}
