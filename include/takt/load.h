/**
 * load.h - load tests of sessions: streams, random arrivals, offline batches.
 *
 *     takt_load load;
 *     takt_scenario_options options = {.scenario = TAKT_SERVER, .qps = 200};
 *     takt_sessions_load(sessions, 2, &options, &load);
 *     printf("p99 %.3f ms\n", load.timing.stats.percentiles[3].value / 1e6);
 *     takt_load_free(ctx, &load);
 *
 * The four scenarios are those that MLPerf Inference has: one query after another; queries of one
 * sample per stream, each started when the last is done; queries that arrive at random, whether or
 * not a session is free (an open loop, so that a slow server cannot slow its clients down); and all
 * samples available at the start.
 *
 * Threads: called by one, which starts those of the streams; the sessions belong to the call until
 * it returns.
 */
#ifndef TAKT_LOAD_H
#define TAKT_LOAD_H

#include <takt/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_scenario_options {
    size_t size;
    takt_scenario_kind scenario;
    double qps;       /**< SERVER: queries a second, on average; must be given */
    uint64_t queries; /**< default: as many as fit into max_ns */
    uint64_t max_ns;  /**< default 1 s; a server that falls behind gets twice as long */
    uint64_t seed;    /**< of the arrivals */
} takt_scenario_options;

typedef struct takt_load {
    takt_timing timing; /**< of every query, from when it was due until it was answered */
    takt_stats waiting; /**< from its due time until a session started it */
    takt_stats rate;    /**< queries a second, in each twentieth of the time */
    double wall_ns;     /**< from the first query due to the last answer */
    double qps;         /**< answers a second */
    size_t unanswered;  /**< when time was up: counted with their waiting time */
    size_t streams;
} takt_load;

/** Each session runs on its own thread, so it should use few threads itself. Inputs must be bound
 *  or written. If a run fails or is cancelled, what was measured stays, as in takt_session_time;
 *  `load->timing.is_complete` is then false. */
TAKT_API TAKT_MUST_USE takt_status takt_sessions_load(takt_session *const *sessions, size_t count,
                                                      const takt_scenario_options *options,
                                                      takt_load *load);
/** Frees the recorded times; accepts a zeroed struct. */
TAKT_API void takt_load_free(takt_ctx *ctx, takt_load *load);

enum { TAKT_PEAK_TRIES = 16 };

/** The highest query rate that meets an SLO. */
typedef struct takt_peak {
    double qps; /**< 0: no rate that was tried meets the SLO */
    struct {
        double qps, value_ns; /**< the percentile of the SLO */
        bool met;
    } tries[TAKT_PEAK_TRIES];
    size_t try_count;
} takt_peak;

/** Finds it by bisection, up to 95 % of the offline rate of the sessions. `load` is that of the
 *  best rate, or of the lowest one tried.
 *
 *  @return what takt_sessions_load returns; TAKT_ERR_ARGUMENT for an SLO without a limit. `load` is
 *  to be freed in any case */
TAKT_API TAKT_MUST_USE takt_status takt_sessions_peak(takt_session *const *sessions, size_t count,
                                                      const takt_scenario_options *options,
                                                      takt_slo slo, takt_peak *peak,
                                                      takt_load *load);

#ifdef __cplusplus
}
#endif
#endif
