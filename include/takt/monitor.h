/**
 * monitor.h - monitoring a running program: call counts, run times, resource use (libtakt-measure).
 *
 *     takt_profile_results results;
 *     takt_profile_start(ctx);
 *     takt_session_run(session);
 *     takt_profile_stop(ctx, &results);
 *     printf("%.2f ms, %llu allocations\n", results.total_ns / 1e6,
 *            (unsigned long long)results.allocations);
 *     takt_profile_results_free(ctx, &results);
 *
 *     takt_monitor *monitor;
 *     takt_monitor_options options = {.track_time = true, .interval_ms = 1000};
 *     takt_monitor_create(ctx, &options, &monitor);
 *     takt_monitor_attach(monitor, session);
 *     ... takt_session_run(session) ...
 *     takt_metrics metrics;
 *     takt_monitor_metrics(monitor, &metrics);             // p50, p95, p99, throughput, memory
 *     takt_monitor_report(monitor, "report.html");
 *     takt_monitor_destroy(monitor);
 *
 * Threads: attached sessions may run on any; the monitor itself must not be used concurrently.
 */
#ifndef TAKT_MONITOR_H
#define TAKT_MONITOR_H

#include <takt/measure.h>
#include <takt/usage.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- everything between two points of a program ---- */

enum { TAKT_OP_NAME = 40 };

/** All calls under one name: steps of one kind ("gemm"), or a name of takt_timed. */
typedef struct takt_op_times {
    char name[TAKT_OP_NAME];
    uint64_t count;
    double total_ns, avg_ns, min_ns, max_ns;
} takt_op_times;

/** One call. */
typedef struct takt_profile_event {
    char name[TAKT_OP_NAME]; /**< of the step, or of takt_timed */
    uint64_t start_ns, ns;   /**< from takt_profile_start on */
    uint32_t op;             /**< index of its row in `ops` */
    int thread;              /**< the system's number of the calling thread */
} takt_profile_event;

typedef struct takt_profile_results {
    uint64_t total_ns;    /**< from start to stop */
    uint64_t allocations; /**< allocations on the context; a run makes none */
    uint64_t moves;       /**< steps and bindings that only copy data */
    uint64_t bytes;       /**< of those allocations and moves together */
    takt_op_times *ops;   /**< most expensive first */
    size_t op_count;
    takt_profile_event *events; /**< in order of their ends: the first 16,384 */
    size_t event_count;
    uint64_t dropped; /**< calls in no event, or in no row because there were 256 */
    uint64_t move_ns; /**< in steps that only copy */
} takt_profile_results;

/** From now on all sessions of the context record their steps; no run may be in progress. Costs two
 *  clock reads per step. TAKT_ERR_STATE if it was started already. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_start(takt_ctx *ctx);
/** No run may be in progress. TAKT_ERR_STATE if it was not started. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_stop(takt_ctx *ctx, takt_profile_results *results);
/** Frees rows and events; accepts zeroed results. */
TAKT_API void takt_profile_results_free(takt_ctx *ctx, takt_profile_results *results);
/** TAKT_PROFILE_TRACE is for Perfetto, TAKT_PROFILE_FOLDED for flame graphs, any other view the
 *  table. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_results_print(takt_ctx *ctx,
                                                              const takt_profile_results *results,
                                                              takt_profile_view view,
                                                              takt_format format,
                                                              takt_sink_fn *sink, void *user);

typedef takt_status takt_timed_fn(void *arg);
/** Calls `fn(arg)` and returns its status. Between start and stop the call is recorded in the table
 *  and the trace under `name`, truncated to 39 bytes. Any thread. TAKT_ERR_ARGUMENT without a name
 *  or a function. */
TAKT_API TAKT_MUST_USE takt_status takt_timed(takt_ctx *ctx, const char *name, takt_timed_fn *fn,
                                              void *arg);

/* ---- a monitor ---- */

typedef struct takt_monitor takt_monitor;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_monitor_options {
    size_t size;
    bool track_time;  /**< percentiles and throughput of the runs of attached sessions */
    bool track_cache; /**< hit rate of the last-level cache, where the kernel provides it: of this
                         thread and threads that it starts from now on */
    uint32_t interval_ms; /**< minimum time between samples, taken at the end of a run; 0: only by
                             takt_monitor_sample */
} takt_monitor_options;

/** Figures of one interval, or of all of them. */
typedef struct takt_metrics {
    double from_s, to_s; /**< since the monitor was made */
    uint64_t runs, failures;
    double throughput; /**< runs a second */
    double mean_ns, min_ns, max_ns;
    double p50_ns, p95_ns, p99_ns; /**< to 1 %; 0 without runs */
    double cpu_pct;                /**< of the processors that this process may use */
    uint64_t memory_bytes, peak_bytes, resident_bytes;
    bool has_cache;
    double cache_hit_pct;
} takt_metrics;

/** A monitor without sessions; `options` NULL: the defaults. Fails if memory is short or
 *  `options` has fields that this version does not know. */
TAKT_API TAKT_MUST_USE takt_status takt_monitor_create(takt_ctx *ctx,
                                                       const takt_monitor_options *options,
                                                       takt_monitor **monitor);
/** Accepts NULL. Its sessions must be destroyed or detached, and no run may be in progress. */
TAKT_API void takt_monitor_destroy(takt_monitor *monitor);
/** The session's runs count from now on; several sessions may have one monitor. A NULL monitor
 *  detaches. No run of the session may be in progress. */
TAKT_API void takt_monitor_attach(takt_monitor *monitor, takt_session *session);
/** Ends the interval and adds it to the report and to `*sample`, unless NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_monitor_sample(takt_monitor *monitor, takt_metrics *sample);
/** Figures of everything since the monitor was created. */
TAKT_API void takt_monitor_metrics(const takt_monitor *monitor, takt_metrics *metrics);
/** Samples so far, at most 4,096: then neighbouring samples are merged in pairs. */
TAKT_API size_t takt_monitor_count(const takt_monitor *monitor);
/** The sample at `index`; false beyond the last. */
TAKT_API bool takt_monitor_get(const takt_monitor *monitor, size_t index, takt_metrics *sample);
/** Why there is no hit rate; "" if there is one, or none was requested. */
TAKT_API const char *takt_monitor_cache_reason(const takt_monitor *monitor);
/** Writes all samples and the totals: JSON (.json), a page (.html) or a table (any other
 *  ending).
 *
 *  @return TAKT_ERR_IO, TAKT_ERR_MEMORY: the old file then stays */
TAKT_API TAKT_MUST_USE takt_status takt_monitor_report(const takt_monitor *monitor,
                                                       const char *path);

#ifdef __cplusplus
}
#endif
#endif
