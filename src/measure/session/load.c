/* load.c - sessions under load: each thread takes the next query in order when it is free.
 *
 * Arrival times are fixed, and the first free thread takes the next query: first come, first
 * served, without a queue, a lock or a dispatcher that could be late itself.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/philox.h"
#include "os/os.h"
#include "stats/stats.h"

#include <takt/load.h>

enum { MOST_STREAMS = 256, MOST_QUERIES = 1000000, TWENTIETHS = 20 };
static const uint64_t near_ns = 120000; /* sleep may overshoot by this much: spin for the rest */

typedef struct load_work {
    takt_session *const *sessions;
    size_t streams;
    takt_ctx *ctx;
    const takt_scenario_options *o;
    size_t queries;
    double *due, *begun, *ended; /* from the start, in nanoseconds; ended 0: not answered */
    uint64_t start_ns, stop_ns;
    _Atomic size_t next;
    _Atomic int status;
    _Atomic size_t arrived, round; /* of a barrier */
} load_work;

typedef struct load_stream {
    load_work *w;
    size_t index;
    void *thread;
} load_stream;

const char *takt_scenario_name(takt_scenario_kind scenario)
{
    static const char *const names[] = {"single-stream", "multi-stream", "server", "offline"};
    return (unsigned)scenario <= TAKT_OFFLINE ? names[scenario] : "unknown";
}

static uint64_t now(const load_work *w)
{
    return w->ctx->now_ns(w->ctx->clock_user);
}

static double since_start(const load_work *w)
{
    return (double)(now(w) - w->start_ns);
}

/* ---- one stream ---- */

static bool is_over(load_work *w)
{
    return atomic_load(&w->status) != TAKT_OK || now(w) >= w->stop_ns;
}

static bool run_one(load_work *w, size_t stream)
{
    const takt_status status = takt_session_run(w->sessions[stream]);
    if (status != TAKT_OK)
        atomic_store(&w->status, status);
    return status == TAKT_OK;
}

static void wait_until(const load_work *w, double due)
{
    const uint64_t at = w->start_ns + (uint64_t)due;
    if (at > now(w) + near_ns)
        takt_os_sleep_until(at - near_ns);
    while (now(w) < at)
        continue;
}

/* All queries, in order, with the other streams. */
static void answer(load_stream *s)
{
    load_work *w = s->w;
    for (bool is_first = true; is_first || !is_over(w); is_first = false) {
        const size_t query = atomic_fetch_add(&w->next, 1);
        if (query >= w->queries)
            break;
        if (w->o->scenario == TAKT_SERVER)
            wait_until(w, w->due[query]);
        else
            w->due[query] = since_start(w); /* there is always another query */
        w->begun[query] = since_start(w);
        if (!run_one(w, s->index))
            break;
        w->ended[query] = since_start(w);
    }
}

/* At least one query is run. */
static bool is_last(load_work *w, size_t query)
{
    return query == w->queries || (query > 0 && is_over(w)) || atomic_load(&w->status) != TAKT_OK;
}

/* The last to arrive begins the next round; false: it is over. */
static bool meet(load_work *w, size_t query)
{
    const size_t round = atomic_load(&w->round);
    if (atomic_fetch_add(&w->arrived, 1) + 1 < w->streams) {
        while (atomic_load(&w->round) == round)
            takt_os_yield();
    } else {
        const double at = since_start(w);
        if (query > 0 && atomic_load(&w->status) == TAKT_OK)
            w->ended[query - 1] = at;
        if (query < w->queries)
            w->due[query] = w->begun[query] = at;
        atomic_store(&w->next, is_last(w, query) ? query : query + 1);
        atomic_store(&w->arrived, 0);
        atomic_fetch_add(&w->round, 1);
    }
    return atomic_load(&w->next) > query;
}

/* Every stream runs once per query; the query is done when the last is. */
static void answer_together(load_stream *s)
{
    for (size_t query = 0; meet(s->w, query); query++)
        (void)run_one(s->w, s->index); /* the barrier checks the status */
}

static void stream_body(void *arg)
{
    load_stream *s = arg;
    takt_os_sleep_until(s->w->start_ns);
    while (now(s->w) < s->w->start_ns)
        continue;
    if (s->w->o->scenario == TAKT_MULTI_STREAM)
        answer_together(s);
    else
        answer(s);
}

/* ---- all streams ---- */

static takt_status run_streams(load_work *w)
{
    load_stream streams[MOST_STREAMS];
    size_t started = 1;
    int error = 0;
    for (size_t i = 0; i < w->streams; i++)
        streams[i] = (load_stream){.w = w, .index = i};
    w->start_ns = now(w) + (w->streams > 1 ? 300000 : 0); /* threads take a while to start */
    w->stop_ns = w->start_ns + (w->o->scenario == TAKT_SERVER ? 2 : 1) * w->o->max_ns;
    for (; started < w->streams && error == 0; started += error == 0)
        error = w->ctx->threads.start(w->ctx->threads.user, stream_body, &streams[started],
                                      &streams[started].thread);
    if (error != 0) { /* a barrier that waits for missing threads would wait forever */
        atomic_store(&w->status, TAKT_ERR_MEMORY);
        w->streams = started;
    }
    stream_body(&streams[0]);
    for (size_t i = 1; i < started; i++)
        w->ctx->threads.join(w->ctx->threads.user, streams[i].thread);
    if (error != 0)
        return takt_fail(w->ctx, TAKT_E_MEMORY, "thread %zu of %zu cannot be started", started + 1,
                         w->streams);
    return (takt_status)atomic_load(&w->status);
}

/* Intervals between arrivals are exponential, as from many independent clients. */
static void plan_arrivals(load_work *w)
{
    const takt_philox_at at = {.seed = w->o->seed, .stream = 7};
    double time = 0;
    for (size_t i = 0; i < w->queries; i++) {
        time -= log1p(-takt_philox_uniform(takt_philox_word(&at, i))) * 1e9 / w->o->qps;
        w->due[i] = time;
    }
}

/* ---- what came out ---- */

static takt_status fill_rate(const load_work *w, takt_load *load)
{
    double counts[TWENTIETHS] = {0};
    const double each = load->wall_ns / TWENTIETHS;
    for (size_t i = 0; i < w->queries; i++)
        if (w->ended[i] > 0 && each > 0)
            counts[(size_t)fmin(TWENTIETHS - 1, w->ended[i] / each)] += 1e9 / each;
    return takt_stats_compute(w->ctx, counts, TWENTIETHS, &load->rate);
}

/* Times of answered queries; for those that were due and not answered, the time they had waited. */
static takt_status collect(load_work *w, takt_load *load)
{
    takt_timing *t = &load->timing;
    const double end = since_start(w);
    const size_t taken = w->next < w->queries ? w->next : w->queries;
    const size_t reach = w->o->scenario == TAKT_SERVER ? w->queries : taken;
    size_t answered = 0, waits = 0;
    void *samples = NULL;
    TAKT_TRY(takt_mem_grow(w->ctx, &samples, &t->capacity, reach + 1, sizeof *t->samples));
    t->samples = samples;
    for (size_t i = 0; i < reach; i++) {
        const bool is_answered = w->ended[i] > 0;
        if (!is_answered && (w->o->scenario != TAKT_SERVER || w->due[i] >= end))
            continue;
        answered += is_answered;
        load->unanswered += !is_answered;
        t->samples[t->count++] = fmax(1, (is_answered ? w->ended[i] : end) - w->due[i]);
        load->wall_ns = fmax(load->wall_ns, w->ended[i]);
        if (is_answered) /* begun[] is no longer needed: reused for waits */
            w->begun[waits++] = fmax(0, w->begun[i] - w->due[i]);
    }
    if (answered == 0)
        return t->count = 0, TAKT_OK;
    load->qps = (double)answered * 1e9 / fmax(1, load->wall_ns);
    TAKT_TRY(takt_stats_compute(w->ctx, t->samples, t->count, &t->stats));
    TAKT_TRY(takt_stats_compute(w->ctx, w->begun, waits, &load->waiting));
    return fill_rate(w, load);
}

/* ---- the call ---- */

static takt_status count_queries(load_work *w)
{
    const takt_scenario_options *o = w->o;
    if (o->scenario == TAKT_SERVER && !(o->qps > 0 && o->qps <= 1e9))
        return takt_fail(w->ctx, TAKT_E_ARGUMENT,
                         "a server scenario needs a rate of queries, not %g a second", o->qps);
    double count = (double)o->queries;
    if (o->queries == 0 && o->scenario == TAKT_SERVER) {
        count = o->qps * (double)o->max_ns * 1e-9;
    } else if (o->queries == 0) {
        const uint64_t start = now(w);
        TAKT_TRY(takt_session_run(w->sessions[0]));
        const double each = fmax(100, 0.3 * (double)(now(w) - start)) / (double)w->streams;
        count = (double)o->max_ns / each;
    }
    w->queries = (size_t)fmin(MOST_QUERIES, fmax(8, count));
    return TAKT_OK;
}

takt_status takt_sessions_load(takt_session *const *sessions, size_t count,
                               const takt_scenario_options *options, takt_load *load)
{
    TAKT_NEED(NULL, load);
    takt_scenario_options o;
    void *block;
    *load = (takt_load){.streams = count};
    takt_ctx *ctx = count > 0 ? sessions[0]->ctx : NULL;
    if (count == 0 || count > MOST_STREAMS)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "%zu streams; there may be 1 to %d", count,
                         MOST_STREAMS);
    TAKT_TRY(takt_options_read(ctx, "takt_scenario_options", options, &o, sizeof o));
    o.max_ns = o.max_ns > 0 ? o.max_ns : 1000000000;
    load_work w = {.sessions = sessions, .streams = count, .ctx = ctx, .o = &o};
    if (o.queries > 0 && o.scenario != TAKT_SERVER)
        o.max_ns = UINT64_MAX / 4; /* exactly this many */
    else if (o.queries > 0 && o.qps > 0)
        o.max_ns = (uint64_t)fmin(1e18, (double)o.queries / o.qps * 1e9);
    TAKT_TRY(count_queries(&w));
    TAKT_TRY(takt_mem_zero(ctx, 3 * w.queries, sizeof(double), "the queries", &block));
    w.due = block;
    w.begun = w.due + w.queries;
    w.ended = w.begun + w.queries;
    if (o.scenario == TAKT_SERVER)
        plan_arrivals(&w);
    takt_status status = run_streams(&w);
    const takt_status collected = collect(&w, load);
    status = status != TAKT_OK ? status : collected;
    load->timing.is_complete = status == TAKT_OK;
    takt_mem_put(ctx, block, 3 * w.queries * sizeof(double));
    return status;
}

void takt_load_free(takt_ctx *ctx, takt_load *load)
{
    takt_timing_free(ctx, &load->timing);
    *load = (takt_load){0};
}
