/* checklist_run.c - boxes that need runs: timed, counted, or compared with the interpreter. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_job.h"
#include "checklist.h"

#define SAY CHECK_SAY

/* The current time compared with that of other options: ticked if the change would not save 5 %. */
static void timed(check_sheet *s, const takt_plan_options *o, const char *other, check_result *r)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    tool_trial x;
    r->ticked = true;
    if (!tool_try(s->p, o, 1, &x)) {
        SAY(r->evidence, "it does not run %s", other);
        return;
    }
    r->ticked = x.gain < 0.05;
    SAY(r->evidence, "%s, and %s %s", tool_figure_time(x.now_ns, a), tool_figure_time(x.then_ns, b),
        other);
}

void check_threads(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    o.threads = s->p->info.threads > 1 ? 1 : 0;
    timed(s, &o, o.threads == 1 ? "with one thread" : "with one thread per core", r);
    SAY(r->fix, "%s", o.threads == 1 ? "add --threads 1" : "leave out --threads");
}

void check_backend(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    const bool is_cpu = o.backend == NULL || strcmp(o.backend, "cpu") == 0;
    o.backend = is_cpu ? "blas" : "cpu";
    const char *reason = takt_backend_available(o.backend);
    if (reason == NULL) {
        timed(s, &o, is_cpu ? "on blas" : "on cpu", r);
    } else {
        r->ticked = true;
        SAY(r->evidence, "there is no other: %.150s", reason);
    }
    SAY(r->fix, "%s", is_cpu ? "add --backend blas" : "leave out --backend");
}

void check_layout(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    o.passes = "-layout";
    timed(s, &o, "without channels last", r);
    SAY(r->fix, "add --pass=-layout");
}

void check_batch(check_sheet *s, check_result *r)
{
    char sizes[TOOL_SIZES];
    int64_t now, more;
    tool_trial x;
    takt_plan_options o = s->p->options;
    SAY(r->fix, "takt benchmark run %s --batch-size 1-64*2", s->p->path);
    r->ticked = true;
    SAY(r->evidence, "it has no batch dimension");
    if (!tool_with_batch(s->p, 1, 1, sizes, &now) || !tool_with_batch(s->p, 4, 1, sizes, &more))
        return;
    o.sizes = sizes;
    if (!tool_try(s->p, &o, (double)now / (double)more, &x))
        return;
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    r->ticked = x.gain < 0.05;
    SAY(r->evidence, "%s a sample at %" PRId64 ", %s at %" PRId64,
        tool_figure_time(x.now_ns / (double)now, a), now,
        tool_figure_time(x.then_ns / (double)more, b), more);
}

/* Compared with everything off: the total effect. */
void check_impact(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    tool_trial x;
    o.level = -1;
    r->ticked = tool_try(s->p, &o, 1, &x);
    if (r->ticked)
        SAY(r->evidence, "%s, and %s at -O0: %.3g times as fast", tool_figure_time(x.now_ns, a),
            tool_figure_time(x.then_ns, b), x.then_ns / fmax(x.now_ns, 1));
    else
        SAY(r->evidence, "it does not run at -O0");
    SAY(r->fix, "takt profile %s --impact", s->p->path);
}

void check_warmup(check_sheet *s, check_result *r)
{
    r->ticked = s->p->warmup > 0;
    SAY(r->evidence, "times settled after %zu run%s", s->p->warmup, s->p->warmup == 1 ? "" : "s");
    SAY(r->fix, "give --duration more time");
}

void check_allocations(check_sheet *s, check_result *r)
{
    takt_usage before, after;
    takt_status status = takt_session_run(s->p->base);
    takt_resource_usage(s->p->t->ctx, &before);
    for (int run = 0; run < 20 && status == TAKT_OK; run++)
        status = takt_session_run(s->p->base);
    takt_resource_usage(s->p->t->ctx, &after);
    r->ticked = status == TAKT_OK && after.allocations == before.allocations;
    SAY(r->evidence, "%" PRIu64 " allocations in 20 runs", after.allocations - before.allocations);
    SAY(r->fix, "bind buffers once, before the first run");
}

/* There is no garbage collector; only memory allocation could pause a run. */
void check_pauses(check_sheet *s, check_result *r)
{
    check_allocations(s, r);
    SAY(r->fix, "let functions of your own use buffers that they have already");
}

/* Steps that only copy, and bound buffers that are copied. */
void check_copies(check_sheet *s, check_result *r)
{
    takt_profile_results seen = {0};
    takt_ctx *ctx = s->p->t->ctx;
    takt_status status = takt_profile_start(ctx);
    if (status == TAKT_OK) {
        status = takt_session_run(s->p->base);
        const takt_status stopped = takt_profile_stop(ctx, &seen);
        status = status == TAKT_OK ? stopped : status;
    }
    const double moves = (double)seen.move_ns;
    double all = 0;
    for (size_t i = 0; i < seen.op_count; i++)
        all += seen.ops[i].total_ns;
    r->ticked = status == TAKT_OK && moves <= 0.05 * all;
    SAY(r->evidence, "%" PRIu64 " copies in a run, %.1f %% of its time", seen.moves,
        all > 0 ? 100 * moves / all : 0);
    SAY(r->fix, "takt profile %s names them; bind dense row-major buffers", s->p->path);
    takt_profile_results_free(ctx, &seen);
}

void check_transfers(check_sheet *s, check_result *r)
{
    const double part = s->p->copy_ns / fmax(s->p->copy_ns + s->p->run_ns, 1);
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    r->ticked = part < 0.05;
    SAY(r->evidence, "copying the inputs takes %s, a run %s", tool_figure_time(s->p->copy_ns, a),
        tool_figure_time(s->p->run_ns, b));
    SAY(r->fix, "takt_session_bind uses your buffers where they lie");
}

/* An existing plan is found in the cache. */
void check_cache(check_sheet *s, check_result *r)
{
    char a[TAKT_TIME_TEXT], b[TAKT_TIME_TEXT];
    takt_plan *first = NULL, *second = NULL;
    takt_status status = takt_plan_get(s->p->model, &s->p->options, &first);
    const uint64_t start = tool_now_ns();
    if (status == TAKT_OK)
        status = takt_plan_get(s->p->model, &s->p->options, &second);
    const double ns = (double)(tool_now_ns() - start);
    r->ticked = status == TAKT_OK && first == second;
    SAY(r->evidence, "a plan takes %s, from the cache %s",
        tool_figure_time((double)s->p->info.plan_ns, a), tool_figure_time(ns, b));
    SAY(r->fix, "use takt_plan_get, or takt compile");
    takt_plan_destroy(first);
    takt_plan_destroy(second);
}

/* A session of other options, run once on the inputs that `base` has. */
static takt_session *run_other(check_sheet *s, const takt_plan_options *o)
{
    takt_plan *plan = NULL;
    takt_session *session = NULL;
    if (takt_plan_create(s->p->model, o, &plan) != TAKT_OK ||
        takt_session_create(plan, NULL, &session) != TAKT_OK ||
        tool_fill_inputs(s->p->t, session) != TAKT_EXIT_OK ||
        takt_session_run(session) != TAKT_OK) {
        takt_session_destroy(session);
        session = NULL;
    }
    takt_plan_destroy(plan);
    return session;
}

static size_t elements(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int i = 0; i < v->rank; i++)
        count *= (size_t)v->dims[i];
    return count;
}

/* The largest difference of all outputs over the largest value; NaNs must be in the same places. */
static double difference(takt_session *a, takt_session *b)
{
    double most = 0, size = 0;
    for (size_t i = 0; i < takt_session_output_count(a); i++) {
        const takt_tensor_view *x = takt_session_output(a, i), *y = takt_session_output(b, i);
        for (size_t k = 0; k < elements(x); k++) {
            const double u = takt_view_element(x, k), v = takt_view_element(y, k);
            if (isnan(u) != isnan(v))
                return INFINITY;
            most = isnan(u) || u == v ? most : fmax(most, fabs(u - v));
            size = isfinite(v) ? fmax(size, fabs(v)) : size;
        }
    }
    return size > 0 ? most / size : most;
}

void check_correct(check_sheet *s, check_result *r)
{
    takt_plan_options o = s->p->options;
    o.backend = "ref";
    o.require = NULL;
    takt_session *ref = run_other(s, &o), *now = ref != NULL ? run_other(s, &s->p->options) : NULL;
    const double off = now != NULL ? difference(now, ref) : INFINITY;
    r->ticked = off < 1e-3;
    if (now != NULL)
        SAY(r->evidence, "outputs differ from the interpreter's by %.2g of the largest", off);
    else
        SAY(r->evidence, "it does not run on the interpreter");
    SAY(r->fix, "takt run %s --backend ref, and report it", s->p->path);
    takt_session_destroy(ref);
    takt_session_destroy(now);
}

/* One sample, and a number of them that no vector divides. */
void check_edges(check_sheet *s, check_result *r)
{
    static const int64_t batches[] = {1, 3, 17};
    char sizes[TOOL_SIZES];
    size_t good = 0, count = 0;
    int64_t now;
    SAY(r->fix, "takt run %s -D batch=1 and -D batch=17 say what is wrong", s->p->path);
    for (size_t i = 0; i < 3; i++) {
        takt_plan_options o = s->p->options;
        if (!tool_with_batch(s->p, 1, 1, sizes, &now) ||
            !tool_with_batch(s->p, batches[i], now, sizes, &now))
            continue;
        o.sizes = sizes;
        takt_session *session = run_other(s, &o);
        count++;
        good += session != NULL;
        takt_session_destroy(session);
    }
    r->ticked = good == count;
    if (count > 0)
        SAY(r->evidence, "%zu of %zu batch sizes (1, 3, 17) run", good, count);
    else
        SAY(r->evidence, "its sizes are fixed");
}
