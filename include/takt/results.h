/**
 * results.h - comparing benchmark results: matching cases, and metrics over time.
 *
 *     takt_bench *results[2];                              // of takt_bench_load
 *     takt_trend trend = {.benches = results, .count = 2, .metric = "latency"};
 *     takt_trend_steps steps;
 *     takt_bench_trend(ctx, &trend, sink, user, &steps);   // steps.count lasting changes
 *
 * Threads: any; results are only read.
 */
#ifndef TAKT_RESULTS_H
#define TAKT_RESULTS_H

#include <takt/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/** "batch 8, 2 threads", with scenario and streams unless they are the defaults. */
TAKT_API void takt_bench_case_name(const takt_bench *bench, size_t index, char *to, size_t size);
/** The case of `bench` with the batch, threads, scenario and streams of case `index` of `like`;
 *  SIZE_MAX if there is none. */
TAKT_API size_t takt_bench_find_case(const takt_bench *bench, const takt_bench *like, size_t index);

/** "A" to "D": how well the times agree, and how busy the machine was; "unknown" if no case has
 *  enough times. C and D: a busy machine. */
TAKT_API const char *takt_bench_grade(const takt_bench *bench);
/** A case of one result and one of another, which were measured separately. Processes differ: each
 *  process in a result (takt_bench_absorb) counts as one figure; a single process is given a
 *  tolerance of 1 %, or 2 % on a busy machine, on top of the spread of its times. Differences below
 *  `detectable` get no verdict. `margin` 0: 0.01.
 *
 *  @return TAKT_ERR_ARGUMENT if there is no such case, or it has too few times */
TAKT_API TAKT_MUST_USE takt_status takt_bench_compare(const takt_bench *a, size_t a_index,
                                                      const takt_bench *b, size_t b_index,
                                                      double margin, takt_comparison *comparison);

/** For every case, the steps that take 80 % of its time: what bounds each, what to do, and how much
 *  of the run this could save at most. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_bottlenecks(const takt_bench *bench,
                                                          takt_format format, takt_sink_fn *sink,
                                                          void *user);

typedef struct takt_trend {
    /** All of one machine. Ordered by timestamp; in the order given if one has none. */
    takt_bench *const *benches;
    size_t count;
    /** "latency" (default), "mean", "p90", "p95", "p99", "throughput", "memory", "load", "plan",
     *  "first", "cpu", "energy" or "instructions". Of the first result's first case. */
    const char *metric;
    takt_bench_format format; /**< TEXT, JSON, HTML or PNG */
} takt_trend;

/** Where the level of a metric changed permanently. */
typedef struct takt_trend_steps {
    size_t count;
    size_t last;   /**< results before the last step; 0: there is no step */
    double change; /**< of the level at the last step: 0.08 is 8 % more */
    bool is_worse; /**< than before the last step: slower, larger, or fewer a second */
} takt_trend_steps;

/** TAKT_ERR_REQUIREMENT for fewer than two results, results of different machines, of
 *  different backends, precisions or numerics, and results without this metric or case. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_trend(takt_ctx *ctx, const takt_trend *trend,
                                                    takt_sink_fn *sink, void *user,
                                                    takt_trend_steps *steps);

#ifdef __cplusplus
}
#endif
#endif
