/* peak.c - the highest query rate that meets a latency SLO. */
#include <math.h>
#include <string.h>

#include "api/session/session.h"
#include "base/mem.h"
#include "base/options.h"
#include "stats/stats.h"

#include <takt/load.h>

enum { TRIES = 8, LEAST_QUERIES = 400, FEWEST_QUERIES = 8 }; /* p99 takes 368 */

double takt_timing_quantile(takt_ctx *ctx, const takt_timing *t, double part)
{
    if (t == NULL)
        return 0;
    void *sorted;
    if (t->count == 0 || takt_mem_get(ctx, t->count * sizeof(double), "times", &sorted) != TAKT_OK)
        return 0;
    memcpy(sorted, t->samples, t->count * sizeof(double));
    takt_sort_doubles(sorted, t->count);
    const double value = takt_quantile(sorted, t->count, fmin(1, fmax(0, part)));
    takt_mem_put(ctx, sorted, t->count * sizeof(double));
    return value;
}

typedef struct search {
    takt_session *const *sessions;
    size_t count;
    takt_scenario_options o;
    takt_slo slo;
    takt_peak *peak;
    takt_load *best;
} search;

/* Keeps the load of the best rate so far, or of the first one until there is a best. */
static takt_status try_rate(search *s, double qps, bool *met)
{
    takt_ctx *ctx = s->sessions[0]->ctx;
    takt_load load;
    const double fitting = qps * (double)s->o.max_ns * 1e-9;
    s->o.qps = qps;
    /* Enough for p99, unless that would take forever. */
    s->o.queries = fitting > LEAST_QUERIES
                       ? 0
                       : (uint64_t)fmin(LEAST_QUERIES, fmax(FEWEST_QUERIES, 10 * fitting));
    const takt_status status = takt_sessions_load(s->sessions, s->count, &s->o, &load);
    const double value = takt_timing_quantile(ctx, &load.timing, s->slo.part);
    /* A rate that was not sustained does not count, however fast the answers; arrivals are random,
     * so a few hundred of them may take up to a tenth longer than requested. */
    *met = status == TAKT_OK && load.unanswered == 0 && value <= s->slo.limit_ns && value > 0 &&
           load.qps >= 0.9 * qps;
    takt_peak *p = s->peak;
    if (p->try_count < TAKT_PEAK_TRIES) {
        p->tries[p->try_count].qps = qps;
        p->tries[p->try_count].value_ns = value;
        p->tries[p->try_count++].met = *met;
    }
    if (*met || p->qps == 0) {
        takt_load_free(ctx, s->best);
        *s->best = load;
        p->qps = *met ? fmin(qps, load.qps) : 0;
    } else {
        takt_load_free(ctx, &load);
    }
    return status;
}

takt_status takt_sessions_peak(takt_session *const *sessions, size_t count,
                               const takt_scenario_options *options, takt_slo slo, takt_peak *peak,
                               takt_load *load)
{
    TAKT_NEED(NULL, sessions);
    TAKT_NEED(NULL, options);
    TAKT_NEED(NULL, peak);
    TAKT_NEED(NULL, load);
    search s = {.sessions = sessions, .count = count, .slo = slo, .peak = peak, .best = load};
    *peak = (takt_peak){0};
    *load = (takt_load){.streams = count};
    takt_ctx *ctx = count > 0 ? sessions[0]->ctx : NULL;
    if (!(slo.limit_ns > 0) || !(slo.part > 0) || slo.part > 1)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a peak is the peak under an SLO: p99=5ms");
    TAKT_TRY(takt_options_read(ctx, "takt_scenario_options", options, &s.o, sizeof s.o));
    s.o.max_ns = (s.o.max_ns > 0 ? s.o.max_ns : 1000000000) / (TRIES + 1);
    s.o.scenario = TAKT_OFFLINE;
    s.o.queries = 0;
    takt_load offline;
    takt_status status = takt_sessions_load(sessions, count, &s.o, &offline);
    double low = 0, high = 0.95 * offline.qps;
    takt_load_free(ctx, &offline);
    s.o.scenario = TAKT_SERVER;
    double rate = high; /* first checks whether any rate can meet it */
    for (int i = 0; i < TRIES && status == TAKT_OK && high > 0; i++) {
        bool met;
        status = try_rate(&s, rate, &met);
        *(met ? &low : &high) = rate;
        rate = (low + high) / 2;
        if (high - low < 0.01 * high || rate * (double)s.o.max_ns < 1e8)
            break; /* close enough, or fewer than one query in ten times the time */
    }
    return status;
}
