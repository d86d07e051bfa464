/* seeds_measure.c - measures one of the guides' models and judges it. */
#define _POSIX_C_SOURCE 200809L
#include <string.h>

#include "seeds.h"
#include "signals.h"

static int profile(seed_job *j, takt_plan *plan, seed_row *r)
{
    takt_session *s;
    takt_profile *p;
    const takt_profile_options options = {.ceilings = &j->ceilings, .max_ns = j->max_ns};
    int code = tool_finish(j->t, takt_session_create(plan, NULL, &s));
    if (code != TAKT_EXIT_OK)
        return code;
    code = tool_fill_inputs(j->t, s);
    tool_interrupts_watch(s, NULL);
    const uint64_t start = tool_now_ns();
    if (code == TAKT_EXIT_OK && takt_session_run(s) != TAKT_OK && !tool_is_interrupted())
        code = tool_report_error(j->t, takt_session_error(s));
    r->first_ns = (double)(tool_now_ns() - start);
    if (code == TAKT_EXIT_OK && !tool_is_interrupted()) {
        const takt_status status = takt_profile_create(s, &options, &p);
        if (status == TAKT_OK)
            takt_profile_summarize(p, &r->s);
        if (!tool_is_interrupted())
            code = tool_finish(j->t, status);
        takt_profile_destroy(p);
    }
    tool_interrupts_watch(NULL, NULL);
    if (code == TAKT_EXIT_OK && tool_is_interrupted())
        code = TAKT_EXIT_INTERRUPTED; /* an interrupted row does not count */
    takt_session_destroy(s);
    return code;
}

int seed_measure(seed_job *j, const seed_claim *c, const char *backend, int threads, seed_row *r)
{
    takt_model *model;
    takt_plan *plan = NULL;
    const takt_plan_options options = {.sizes = c->sizes, .threads = threads, .backend = backend};
    *r = (seed_row){0};
    uint64_t start = tool_now_ns();
    int code = tool_finish(
        j->t, takt_model_load_memory(j->t->ctx, c->name, c->text, strlen(c->text), NULL, &model));
    r->load_ns = (double)(tool_now_ns() - start);
    if (code != TAKT_EXIT_OK)
        return code;
    start = tool_now_ns();
    code = tool_finish(j->t, takt_plan_create(model, &options, &plan));
    r->plan_ns = (double)(tool_now_ns() - start);
    if (code == TAKT_EXIT_OK) {
        takt_plan_query(plan, &r->info);
        code = profile(j, plan, r);
    }
    takt_plan_destroy(plan);
    takt_model_destroy(model);
    return code;
}

int seed_close_list(const seed_job *j, int code)
{
    printf(j->json && code == TAKT_EXIT_INTERRUPTED ? "],\n" : "");
    return code;
}

/* A claim below the machine's floor is not a failure. */
seed_verdict seed_judge(takt_interval measured, double floor, double claim)
{
    if (measured.high <= claim)
        return SEED_MET;
    if (floor > claim)
        return SEED_IMPOSSIBLE;
    return measured.low > claim ? SEED_NOT_MET : SEED_INCONCLUSIVE;
}

seed_verdict seed_judge_row(const seed_row *r, double claim_us)
{
    const takt_interval ci = r->s.latency.median_ci;
    return seed_judge((takt_interval){ci.low * 1e-3, ci.high * 1e-3}, r->s.floor_ns * 1e-3,
                      claim_us);
}

const char *seed_verdict_name(seed_verdict v)
{
    static const char *const names[] = {"met", "not met", "impossible here", "inconclusive"};
    return names[v];
}

const char *seed_time(double ns, char to[32])
{
    const double unit = ns < 1e3 ? 1 : ns < 1e6 ? 1e3 : ns < 1e9 ? 1e6 : 1e9;
    snprintf(to, 32, "%.4g %s", ns / unit,
             unit == 1     ? "ns"
             : unit == 1e3 ? "us"
             : unit == 1e6 ? "ms"
                           : "s");
    return to;
}
