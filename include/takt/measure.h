/**
 * measure.h - how fast, how sure, and how far from what this machine can do.
 *
 *     takt_timing timing;
 *     takt_timing_options options = {.max_ns = 500000000};
 *     takt_session_time(session, &options, &timing);
 *     printf("%.3f ms\n", timing.stats.median / 1e6);      // with timing.stats.median_ci
 *     takt_timing_free(ctx, &timing);
 *
 * Times are in nanoseconds. An interval is a 95 % confidence interval unless said otherwise.
 */
#ifndef TAKT_MEASURE_H
#define TAKT_MEASURE_H

#include <takt/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How results are written. */
typedef enum takt_bench_format {
    TAKT_BENCH_TEXT,
    TAKT_BENCH_JSON,
    TAKT_BENCH_JSONL,
    TAKT_BENCH_CSV,
    TAKT_BENCH_MD,
    TAKT_BENCH_HTML,
    TAKT_BENCH_GBENCH, /**< as Google Benchmark writes it */
    TAKT_BENCH_PNG,    /**< a picture: times in order, or the trend */
} takt_bench_format;

/* ---- statistics ---- */

typedef struct takt_interval {
    double low, high;
} takt_interval;

/** A percentile is resolved if the sample is large enough to bound it on both sides; otherwise an
 *  end of the interval is merely the smallest or largest value seen. */
typedef struct takt_percentile {
    double value;
    takt_interval ci;
    bool resolved;
} takt_percentile;

enum { TAKT_PERCENTILES = 4 }; /**< 50, 90, 95, 99 */

typedef struct takt_stats {
    size_t count;
    double mean, std, min, max, median, mad;
    takt_percentile percentiles[TAKT_PERCENTILES];
    takt_interval mean_ci, median_ci;
    size_t mild, severe; /**< outliers beyond 1.5 and 3 interquartile ranges of the quartiles */
} takt_stats;

/** Of at least one finite number. */
TAKT_API TAKT_MUST_USE takt_status takt_stats_compute(takt_ctx *ctx, const double *values,
                                                      size_t count, takt_stats *stats);

/* ---- timing a session ---- */

typedef struct takt_timing takt_timing;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_timing_options {
    size_t size;
    uint64_t runs;     /**< exactly so many; default: until the interval is narrow enough */
    uint64_t warmup;   /**< exactly so many before; default: until the times have settled */
    bool no_warmup;    /**< none at all */
    uint64_t min_ns;   /**< measure at least so long; default 0 */
    uint64_t max_ns;   /**< and, without `runs`, at most so long; default 1 s */
    double ci_width;   /**< width of the median's interval over the median; default 0.01 */
    size_t max_runs;   /**< default 1,000,000 */
    bool include_copy; /**< every run begins with copying the inputs, and is timed with it */
    size_t min_runs;   /**< not fewer, unless they take half of `max_ns`; default 0 */
    /** Called between steady runs now and then, with what was measured so far, of which it may
     *  fill in `stats`; or NULL. A failure ends the measurement. */
    takt_status (*keep)(void *user, takt_timing *so_far);
    void *keep_user;
    uint64_t keep_ns; /**< how often; default 1 s, and never more than a part of the time */
} takt_timing_options;

struct takt_timing {
    double *samples; /**< of the steady phase, in order; the context's memory */
    size_t count, capacity;
    takt_stats stats;
    double first_ns;    /**< the very first run */
    size_t warmup_runs; /**< runs before the steady phase, the first included */
    double copy_ns;     /**< copying the inputs once, which a run does not do */
    bool is_settled;    /**< the interval became as narrow as asked */
    bool is_complete;   /**< not broken off by a failure or cancellation */
};

/** Inputs must be bound or written. A failed or cancelled run ends the measurement: what was
 *  measured stays in `timing`, and the status is that of the run (see takt_session_error). */
TAKT_API TAKT_MUST_USE takt_status takt_session_time(takt_session *session,
                                                     const takt_timing_options *options,
                                                     takt_timing *timing);
TAKT_API void takt_timing_free(takt_ctx *ctx, takt_timing *timing);

/** In what order work comes; see takt/load.h. */
typedef enum takt_scenario_kind {
    TAKT_SINGLE_STREAM, /**< one run after another */
    TAKT_MULTI_STREAM,  /**< a query is one run on every stream, and done when all are */
    TAKT_SERVER,        /**< queries arrive at random times (Poisson) */
    TAKT_OFFLINE,       /**< all at once: only the rate counts */
} takt_scenario_kind;

/** "single-stream"; never NULL. */
TAKT_API const char *takt_scenario_name(takt_scenario_kind scenario);

/** A promise: this part of the runs takes no longer than this. `limit_ns` 0: none. */
typedef struct takt_slo {
    double part; /**< 0.99 for p99 */
    double limit_ns;
} takt_slo;

/** The quantile at `part` (0 to 1) of the times; 0 if there are none or memory is short. */
TAKT_API double takt_timing_quantile(takt_ctx *ctx, const takt_timing *timing, double part);

/* ---- the machine ---- */

enum { TAKT_LEVELS = 4 }; /**< L1, L2, L3, DRAM */

/** What kernels that do nothing else reach. Zero: unknown. */
typedef struct takt_ceiling {
    int threads;
    double f32_gflops, f64_gflops, int8_gops;
    double f16_gflops, bf16_gflops; /**< arithmetic in 16 bits, where the processor has it */
    double read_gbs[TAKT_LEVELS], copy_gbs[TAKT_LEVELS];
} takt_ceiling;

typedef struct takt_ceilings {
    char fingerprint[17];
    takt_ceiling one, all;             /**< one thread, and one per core this process may use */
    uint64_t cache_bytes[TAKT_LEVELS]; /**< per instance; of the last: memory */
    bool from_file;
    bool is_scaled; /**< others computed meanwhile: some of `all` are `one` times the threads */
} takt_ceilings;

/** Measured once, in less than a second, and kept in `path`, which may be NULL: then always
 *  measured. A file of another machine, or one that is no such file, is replaced. */
TAKT_API TAKT_MUST_USE takt_status takt_ceilings_get(takt_ctx *ctx, const char *path, bool again,
                                                     takt_ceilings *ceilings);
/** 16 hexadecimal digits and a zero: equal for machines that results may be compared across. */
TAKT_API void takt_machine_fingerprint(char text[17]);
/** Processor, caches, memory, limits, system; with `ceilings`, those too. */
TAKT_API TAKT_MUST_USE takt_status takt_machine_describe(takt_ctx *ctx,
                                                         const takt_ceilings *ceilings,
                                                         takt_format format, takt_sink_fn *sink,
                                                         void *user);

/* ---- comparing ---- */

typedef enum takt_verdict {
    TAKT_SAME,         /**< within the margin */
    TAKT_FASTER,       /**< the second is */
    TAKT_SLOWER,       /**< the second is */
    TAKT_INCONCLUSIVE, /**< too noisy, or too few blocks */
} takt_verdict;

typedef struct takt_comparison {
    takt_verdict verdict;
    double ratio;      /**< time of the second over time of the first */
    takt_interval ci;  /**< of the ratio */
    double margin;     /**< 0.01: a difference of up to 1 % is none */
    double same_p;     /**< of the equivalence test */
    double detectable; /**< the smallest change that so many blocks show 8 times in 10 */
    double noise;      /**< what comparing the first with itself shows */
    size_t blocks;
    size_t more_blocks; /**< that it would take, if inconclusive; of results: processes each */
    double a_ns, b_ns;  /**< blocks: A's median, and that times the ratio; results: medians */
    size_t processes;   /**< results measured apart: of how many processes, the fewer; else 0 */
} takt_comparison;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_compare_options {
    size_t size;
    size_t blocks;   /**< default: until the verdict is clear, 8 at least, or the time is up */
    uint64_t max_ns; /**< default 3 s */
    double margin;   /**< default 0.01 */
    /** Makes both sessions anew before every block, in turns in the one order and the other; or
     *  NULL. Where memory lies can make 1 % of difference for the life of a session. */
    takt_status (*renew)(void *user, bool b_first, takt_session **a, takt_session **b);
    void *user;
    /** 0.03: every run of the second is made to take 3 % longer, by waiting. So it can be seen
     *  whether a comparison would find such a change, here and today. */
    double inject;
    takt_timing *a_blocks, *b_blocks; /**< the medians of the blocks, for takt_timing_free; or
                                           NULL */
} takt_compare_options;

/** Runs two sessions in turns, A B B A, so that drifts fall on both. With `renew` the sessions
 *  given are those of the first block. If a session is cancelled this returns TAKT_ERR_CANCELLED;
 *  from the fourth block on the comparison is then of what was measured: its `blocks` is not 0. */
TAKT_API TAKT_MUST_USE takt_status takt_session_compare(takt_session *a, takt_session *b,
                                                        const takt_compare_options *options,
                                                        takt_comparison *comparison);
/** Times that were not taken in turns, cut into blocks: a drift shows as a difference. */
TAKT_API TAKT_MUST_USE takt_status takt_timing_compare(takt_ctx *ctx, const takt_timing *a,
                                                       const takt_timing *b, double margin,
                                                       takt_comparison *comparison);
/** What a comparison is of; the timings may be NULL. */
typedef struct takt_compared {
    const char *a, *b; /**< names */
    const takt_timing *a_timing, *b_timing;
    takt_bench_format format;           /**< TEXT, JSON or HTML */
    takt_run_config a_config, b_config; /**< how each was computed; NULL: unknown */
    bool a_incomplete, b_incomplete;    /**< results that were broken off */
    const char *a_grade, *b_grade;      /**< of takt_bench_grade; NULL: unknown */
} takt_compared;

TAKT_API TAKT_MUST_USE takt_status takt_comparison_write(takt_ctx *ctx,
                                                         const takt_comparison *comparison,
                                                         const takt_compared *of,
                                                         takt_sink_fn *sink, void *user);
/** Several comparisons with one first side as one text, object or page; the format is that of
 *  `of[0]`. */
TAKT_API TAKT_MUST_USE takt_status takt_comparisons_write(takt_ctx *ctx,
                                                          const takt_comparison *comparisons,
                                                          const takt_compared *of, size_t count,
                                                          takt_sink_fn *sink, void *user);
/** "faster"; never NULL. */
TAKT_API const char *takt_verdict_name(takt_verdict verdict);

/* ---- profiles ---- */

typedef struct takt_profile takt_profile;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_profile_options {
    size_t size;
    const takt_ceilings *ceilings; /**< borrowed for the call; NULL: shares are left out */
    uint64_t runs;                 /**< profiled runs; default: as many as fit */
    uint64_t max_ns;               /**< time for timing and profiling together; default 1 s */
    bool whole;                    /**< take all of `max_ns`, also when fewer runs would do */
    uint64_t load_ns;              /**< what loading the model took, if the report shall say so */
    const char *model;             /**< its name on the page; default: its own */
    const char *timestamp;         /**< on the page, in any form; NULL: left out */
} takt_profile_options;

typedef enum takt_profile_view {
    TAKT_PROFILE_STEPS,  /**< every step, and what to do about the costly ones */
    TAKT_PROFILE_BRIEF,  /**< three lines */
    TAKT_PROFILE_LAYERS, /**< one line per layer */
    TAKT_PROFILE_MEMORY, /**< what is live when */
    TAKT_PROFILE_TRACE,  /**< JSON for Perfetto and chrome://tracing */
    TAKT_PROFILE_FOLDED, /**< stacks and counts, for flame graphs */
    TAKT_PROFILE_PAGE,   /**< an HTML page: steps, roofline, memory over the steps, what to do */
    TAKT_PROFILE_FLAME,  /**< the flame graph itself: an SVG file to zoom and to search */
} takt_profile_view;

/** Times the session first without, then with a look at every step. Inputs must be bound. The
 *  profile keeps the plan alive and needs the session no more. If the session is cancelled the
 *  profile is of what was measured until then; with nothing measured it fails. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_create(takt_session *session,
                                                       const takt_profile_options *options,
                                                       takt_profile **profile);
/** Accepts NULL. */
TAKT_API void takt_profile_destroy(takt_profile *profile);
/** `top` limits the rows of the table; 0: all. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_print(const takt_profile *profile,
                                                      takt_profile_view view, size_t top,
                                                      takt_format format, takt_sink_fn *sink,
                                                      void *user);

/** The run as a whole. */
typedef struct takt_profile_summary {
    takt_stats latency; /**< without looking at the steps */
    double floor_ns;    /**< what the ceilings would allow; 0: unknown */
    double flops, bytes;
} takt_profile_summary;

TAKT_API void takt_profile_summarize(const takt_profile *profile, takt_profile_summary *summary);

/** What each optimisation is worth: the model planned and timed as `options` say, then with every
 *  pass, fusion, the planner, results in place, vector code and threads off in turn, each beside
 *  everything on: `takt profile --impact`. `max_ns`: for each; default 0.1 s. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_impact(const takt_model *model,
                                                       const takt_plan_options *options,
                                                       uint64_t max_ns, takt_format format,
                                                       takt_sink_fn *sink, void *user);

/* ---- results ---- */

typedef struct takt_bench takt_bench;

/** What is measured; strings are copied. Zero in any field means the default. */
typedef struct takt_bench_info {
    size_t size;
    const char *model;     /**< its path */
    const char *type;      /**< default "inference" */
    const char *timestamp; /**< "2026-11-15T10:00:00Z" */
    const char *const *command;
    size_t command_count;
    const takt_ceilings *ceilings;
    bool latency, throughput, memory; /**< what to report; none: all three */
    bool energy;                      /**< joules too, where the machine counts them */
} takt_bench_info;

/** One combination of settings. */
typedef struct takt_bench_case {
    size_t size;
    int64_t batch; /**< samples in a run; default 1 */
    double load_ns, plan_ns;
    takt_timing_options timing;
    bool no_steps; /**< without a profile of the steps */
    takt_scenario_kind scenario;
    size_t streams; /**< sessions at once, unless single-stream; default: one per core */
    double qps;     /**< TAKT_SERVER: queries a second */
    bool find_peak; /**< TAKT_SERVER: instead of `qps`, the most that keeps the promise */
    takt_slo slo;   /**< whether it is kept goes into the result */
    /** Called while a single stream is measured, so that the bench can be written: its last case is
     *  marked incomplete. A process may be killed without a warning. NULL: nobody does. */
    takt_status (*keep)(void *user);
    void *keep_user;
} takt_bench_case;

/** Memory is counted from here on: create it before the model is loaded. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_create(takt_ctx *ctx, const takt_bench_info *info,
                                                     takt_bench **bench);
TAKT_API void takt_bench_destroy(takt_bench *bench);
/** Measures a session whose inputs are bound. If a run fails, what was measured is kept, marked
 *  incomplete. Nobody else may use the context meanwhile, so that allocations can be counted. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_add(takt_bench *bench, takt_session *session,
                                                  const takt_bench_case *settings);
/** So many cases shall come, and until they have, what is written is marked incomplete. */
TAKT_API void takt_bench_expect(takt_bench *bench, size_t cases);
/** Whatever is written from now on is marked incomplete, or no longer because of this. */
TAKT_API void takt_bench_set_incomplete(takt_bench *bench, bool is_incomplete);
/** Reads what takt_bench_write wrote as JSON or HTML; also a file that has only the seeds' keys. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_load(takt_ctx *ctx, const char *path,
                                                   takt_bench **bench);
TAKT_API TAKT_MUST_USE takt_status takt_bench_write(const takt_bench *bench,
                                                    takt_bench_format format, takt_sink_fn *sink,
                                                    void *user);
TAKT_API size_t takt_bench_count(const takt_bench *bench);
/** The times of a case, or NULL beyond the last. Valid as long as the bench. */
TAKT_API const takt_timing *takt_bench_timing(const takt_bench *bench, size_t index);
/** "" if the file did not say. */
TAKT_API const char *takt_bench_fingerprint(const takt_bench *bench);
TAKT_API const char *takt_bench_time(const takt_bench *bench);

/** Adds what another process measured with the same settings: times are pooled, and how the
 *  processes differ is kept, as `results.processes`. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_absorb(takt_bench *bench, const takt_bench *other);
/** Events per run, say instructions, of a case. `source`: "measured" or "simulated". */
TAKT_API TAKT_MUST_USE takt_status takt_bench_set_counter(takt_bench *bench, size_t index,
                                                          const char *event, double per_run,
                                                          const char *source);
/** 0 if the case has no such counter; `*source` is then NULL. */
TAKT_API double takt_bench_counter(const takt_bench *bench, size_t index, const char **source);
/** Broken off: in a case, or before all of them were measured; or its file says so. */
TAKT_API bool takt_bench_is_incomplete(const takt_bench *bench);
/** False if a case had a promise and did not keep it. */
TAKT_API bool takt_bench_keeps_slo(const takt_bench *bench, size_t index);
/** How a case was computed; false if the result does not say. */
TAKT_API bool takt_bench_config(const takt_bench *bench, size_t index, takt_run_config *config);
/** Threads of a case's plan, and samples per run; 0 beyond the last. */
TAKT_API int takt_bench_threads(const takt_bench *bench, size_t index);
TAKT_API int64_t takt_bench_batch(const takt_bench *bench, size_t index);

typedef struct takt_batch_limits {
    size_t size;
    uint64_t memory; /**< that plans may take; default: what this process may have */
    int threads;     /**< look at cases with so many only; default: at all */
} takt_batch_limits;

/** Which batch size to use, from cases that differ in it. 0: none fits. */
typedef struct takt_batch_suggestion {
    int64_t best;    /**< most samples a second, within the promise and the memory */
    int64_t knee;    /**< the smallest that reaches 90 % of the most samples a second of all */
    int64_t formula; /**< max(1, min(memory / bytes a sample, 2 * threads)): a rule of thumb */
    double best_rate, knee_rate; /**< samples a second */
    double sample_bytes;         /**< what one more sample takes; 0: unknown */
    int threads;                 /**< of `best` */
    const char *precision;       /**< that its weights are stored in; NULL: unknown */
} takt_batch_suggestion;

TAKT_API TAKT_MUST_USE takt_status takt_suggest_batch(const takt_bench *bench,
                                                      const takt_batch_limits *limits,
                                                      takt_batch_suggestion *suggestion);

/** Runs so many times on this thread and counts an event ("instructions", "cycles", "cache-reads",
 *  "cache-misses", "branches", "branch-misses", "l1-reads", "l1-misses", "ll-misses") per run.
 * TAKT_ERR_UNSUPPORTED where the kernel or the processor does not count for us. A session of one
 * thread is meant. */
TAKT_API TAKT_MUST_USE takt_status takt_session_count(takt_session *session, const char *event,
                                                      uint64_t runs, double *per_run);

/** What a result says: the table, the costliest steps, and what to look at. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_analyze(const takt_bench *bench, takt_format format,
                                                      takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
