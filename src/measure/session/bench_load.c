/* bench_load.c - a case of a benchmark in which several sessions work at once. */
#include <math.h>

#include "base/mem.h"
#include "measure/session/bench.h"
#include "measure/session/measure.h"
#include "stats/stats.h"

enum { MOST_STREAMS = 256 };

typedef struct crew {
    takt_session *sessions[MOST_STREAMS];
    size_t count;
} crew;

static void dismiss(crew *c)
{
    for (size_t i = 1; i < c->count; i++) /* the first is the caller's */
        takt_session_destroy(c->sessions[i]);
}

/* Clones read the inputs where the first session has them. */
static takt_status hire(crew *c, takt_session *s)
{
    takt_session **clone = &c->sessions[c->count];
    TAKT_TRY(takt_session_clone(s, clone));
    c->count++;
    for (size_t i = 0; i < takt_session_input_count(s); i++)
        TAKT_TRY(takt_session_bind(*clone, takt_session_input_desc(s, i)->name,
                                   takt_session_input(s, i)));
    return takt_session_warmup(*clone);
}

static takt_status work(const crew *c, const takt_bench_case *o, takt_bench_usage *m,
                        takt_load *load)
{
    const takt_scenario_options options = {.scenario = o->scenario,
                                           .qps = o->qps,
                                           .queries = o->timing.runs,
                                           .max_ns = o->timing.max_ns};
    if (!o->find_peak)
        return takt_sessions_load(c->sessions, c->count, &options, load);
    return takt_sessions_peak(c->sessions, c->count, &options, o->slo, &m->peak, load);
}

static void scale(takt_stats *s, double by)
{
    s->mean *= by;
    s->std *= by;
    s->min *= by;
    s->max *= by;
    s->median *= by;
    s->median_ci.low *= by;
    s->median_ci.high *= by;
}

static void keep(takt_bench_row *r, takt_load *load, const takt_bench_case *o)
{
    takt_bench_usage *m = &r->usage;
    takt_timing *t = &load->timing;
    t->first_ns = r->timing.first_ns;
    t->warmup_runs = r->timing.warmup_runs;
    t->copy_ns = r->timing.copy_ns;
    t->is_settled = true; /* a load lasts as long as requested */
    r->timing = *t;
    *t = (takt_timing){0};
    m->qps = load->qps;
    m->qps_asked = o->find_peak && m->peak.qps > 0 ? m->peak.qps : o->qps;
    m->unanswered = load->unanswered;
    m->waiting = load->waiting;
    const size_t each = o->scenario == TAKT_MULTI_STREAM ? m->streams : 1;
    r->throughput = load->rate;
    scale(&r->throughput, (double)r->batch * (double)each);
}

takt_status takt_bench_measure_load(takt_bench *b, takt_session *s, const takt_bench_case *o,
                                    takt_bench_row *r)
{
    const size_t cores = (size_t)takt_pool_default_threads();
    const size_t each = (size_t)s->plan->threads, fitting = cores > each ? cores / each : 1;
    size_t streams = o->streams > 0 ? o->streams : fitting;
    takt_timing_options first = o->timing;
    takt_load load = {0};
    crew c = {.sessions = {s}, .count = 1};
    streams = streams < MOST_STREAMS ? streams : MOST_STREAMS;
    first.runs = 8; /* for the phases; the load has its own times */
    first.min_ns = 0;
    takt_status status = takt_session_time(s, &first, &r->timing);
    takt_mem_put(b->ctx, r->timing.samples, r->timing.capacity * sizeof *r->timing.samples);
    r->timing.samples = NULL;
    r->timing.count = r->timing.capacity = 0;
    while (status == TAKT_OK && c.count < streams)
        status = hire(&c, s);
    r->usage.streams = streams;
    if (status == TAKT_OK) {
        status = work(&c, o, &r->usage, &load);
        keep(r, &load, o);
    }
    /* The tool asks the first session what went wrong. */
    for (size_t i = 1; i < c.count && status != TAKT_OK; i++)
        if (takt_session_error(c.sessions[i])->status == status)
            s->error = *takt_session_error(c.sessions[i]);
    dismiss(&c);
    takt_load_free(b->ctx, &load);
    return status;
}
