/**
 * measure.h - profiles, results, and how close a run comes to the machine's limits.
 *
 *     takt_profile *profile;
 *     if (takt_profile_create(session, NULL, &profile) != TAKT_OK) ...
 *     takt_profile_print(profile, TAKT_PROFILE_STEPS, 10, TAKT_FORMAT_TEXT, sink, user);
 *     takt_profile_destroy(profile);
 *
 * Link with libtakt-measure. Times are in nanoseconds (timing.h).
 *
 * Threads: one at a time for each object, different objects at once (takt.h).
 */
#ifndef TAKT_MEASURE_H
#define TAKT_MEASURE_H

#include <takt/timing.h>

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

/** How queries arrive; see takt/load.h. */
typedef enum takt_scenario_kind {
    TAKT_SINGLE_STREAM, /**< one run after another */
    TAKT_MULTI_STREAM,  /**< a query is one run on every stream, and done when all are */
    TAKT_SERVER,        /**< queries arrive at random times (Poisson) */
    TAKT_OFFLINE,       /**< all at once: only the rate counts */
} takt_scenario_kind;

/** "single-stream"; never NULL. */
TAKT_API const char *takt_scenario_name(takt_scenario_kind scenario);

/** A latency SLO: this fraction of the runs takes at most `limit_ns`. `limit_ns` 0: none. */
typedef struct takt_slo {
    double part; /**< 0.99 for p99 */
    double limit_ns;
} takt_slo;

/** The quantile at `part` (0 to 1) of the times; 0 if there are none, or out of memory. */
TAKT_API double takt_timing_quantile(takt_ctx *ctx, const takt_timing *timing, double part);

/* ---- the machine ---- */

enum { TAKT_LEVELS = 4 }; /**< L1, L2, L3, DRAM */

/** Peak rates of kernels that do nothing else. Zero: unknown. */
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
    bool is_scaled; /**< the machine was busy: some of `all` are `one` times the threads */
} takt_ceilings;

/** Measured once, in less than a second, and stored in `path`; NULL: measured on every call. A file
 *  from another machine, or of another kind, is replaced. */
TAKT_API TAKT_MUST_USE takt_status takt_ceilings_get(takt_ctx *ctx, const char *path, bool again,
                                                     takt_ceilings *ceilings);
/** 16 hexadecimal digits and a zero: equal for machines whose results may be compared. */
TAKT_API void takt_machine_fingerprint(char text[17]);
/** Processor, caches, memory, limits, system; with `ceilings`, those too. */
TAKT_API TAKT_MUST_USE takt_status takt_machine_describe(takt_ctx *ctx,
                                                         const takt_ceilings *ceilings,
                                                         takt_format format, takt_sink_fn *sink,
                                                         void *user);

struct takt_generator; /* text.h */
/** The roofline minimum of a machine, in nanoseconds: for `count` tokens of a prompt after
 *  `position` others, read in parts, or, if `writes`, for generating that many one by one. Each run
 *  reads the weights and the live keys and values once, and multiplies by the weights; attention's
 *  arithmetic is left out. 0: unknown. */
TAKT_API double takt_generator_floor(const struct takt_generator *generator,
                                     const takt_ceilings *ceilings, int64_t position, size_t count,
                                     bool writes);

/* ---- comparisons as texts and pages ---- */

/** The two sides of a comparison; the timings may be NULL. */
typedef struct takt_compared {
    const char *a, *b; /**< names */
    const takt_timing *a_timing, *b_timing;
    takt_bench_format format;           /**< TEXT, JSON or HTML */
    takt_run_config a_config, b_config; /**< how each was computed; NULL: unknown */
    bool a_incomplete, b_incomplete;    /**< results that were interrupted */
    const char *a_grade, *b_grade;      /**< of takt_bench_grade; NULL: unknown */
} takt_compared;

/** Writes a comparison as a text, object or page, as `of->format` says. TAKT_ERR_IO if `sink`
 * refuses it. */
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

/* ---- profiles ---- */

typedef struct takt_profile takt_profile;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_profile_options {
    size_t size;
    const takt_ceilings *ceilings; /**< borrowed for the call; NULL: shares are left out */
    uint64_t runs;                 /**< profiled runs; default: as many as fit */
    uint64_t max_ns;               /**< time for timing and profiling together; default 1 s */
    bool whole;                    /**< use all of `max_ns`, even if fewer runs would be enough */
    uint64_t load_ns;              /**< load time of the model, if the report should include it */
    const char *model;             /**< its name on the page; default: its own */
    const char *timestamp;         /**< on the page, in any form; NULL: left out */
} takt_profile_options;

typedef enum takt_profile_view {
    TAKT_PROFILE_STEPS,  /**< every step, and what to do about the costly ones */
    TAKT_PROFILE_BRIEF,  /**< three lines */
    TAKT_PROFILE_LAYERS, /**< one line per layer */
    TAKT_PROFILE_MEMORY, /**< which buffers are live at each step */
    TAKT_PROFILE_TRACE,  /**< JSON for Perfetto and chrome://tracing */
    TAKT_PROFILE_FOLDED, /**< stacks and counts, for flame graphs */
    TAKT_PROFILE_PAGE,   /**< an HTML page: steps, roofline, memory over the steps, what to do */
    TAKT_PROFILE_FLAME,  /**< the flame graph itself: a zoomable, searchable SVG file */
} takt_profile_view;

/** Times the session first as a whole, then step by step. Inputs must be bound. The profile keeps
 *  the plan alive and no longer needs the session. If the session is cancelled, the profile covers
 *  what was measured until then; it fails if that is nothing. */
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
    takt_stats latency; /**< without timing the steps */
    double floor_ns;    /**< roofline minimum by the ceilings; 0: unknown */
    double flops, bytes;
} takt_profile_summary;

/** Fills `*summary` from the runs that the profile has; zeros without a profile. */
TAKT_API void takt_profile_summarize(const takt_profile *profile, takt_profile_summary *summary);

/** The effect of each optimisation: the model is planned and timed with `options`, then with
 *  passes, fusion, the planner, in-place results, vector code and threads disabled one at a time,
 *  each compared with everything enabled: `takt profile --impact`. `max_ns`: for each; default 0.1
 *  s. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_impact(const takt_model *model,
                                                       const takt_plan_options *options,
                                                       uint64_t max_ns, takt_format format,
                                                       takt_sink_fn *sink, void *user);

/* ---- results ---- */

typedef struct takt_bench takt_bench;

/** The settings of a measurement; strings are copied. Zero in any field means the default. */
typedef struct takt_bench_info {
    size_t size;
    const char *model;     /**< its path */
    const char *type;      /**< default "inference" */
    const char *timestamp; /**< "2026-11-15T10:00:00Z" */
    const char *const *command;
    size_t command_count;
    const takt_ceilings *ceilings;
    bool latency, throughput, memory; /**< what to report; none: all three */
    bool energy;                      /**< energy in joules too, if the machine measures it */
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
    bool find_peak; /**< TAKT_SERVER: instead of `qps`, the highest rate that meets the SLO */
    takt_slo slo;   /**< the result says whether it is met */
    /** Called while a single stream is measured, so that the results can be saved in case the
     *  process is killed: the last case is marked incomplete. May be NULL. */
    takt_status (*keep)(void *user);
    void *keep_user;
} takt_bench_case;

/** Memory is counted from here on: create it before the model is loaded.
 *
 *  @return TAKT_ERR_MEMORY, TAKT_ERR_ARGUMENT: `*bench` is then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_bench_create(takt_ctx *ctx, const takt_bench_info *info,
                                                     takt_bench **bench);
/** Accepts NULL. */
TAKT_API void takt_bench_destroy(takt_bench *bench);
/** Measures a session whose inputs are bound. If a run fails, what was measured is kept, marked
 *  incomplete. Nothing else may use the context meanwhile, because allocations are counted. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_add(takt_bench *bench, takt_session *session,
                                                  const takt_bench_case *settings);
/** Sets the expected number of cases: until they are measured, output is marked incomplete. */
TAKT_API void takt_bench_expect(takt_bench *bench, size_t cases);
/** Marks all later output incomplete, or removes this mark. */
TAKT_API void takt_bench_set_incomplete(takt_bench *bench, bool is_incomplete);
/** Reads what takt_bench_write wrote as JSON or HTML; also a file that has only the seeds' keys.
 *
 *  @return TAKT_ERR_IO, TAKT_ERR_FORMAT with the place, TAKT_ERR_MEMORY: `*bench` is then NULL */
TAKT_API TAKT_MUST_USE takt_status takt_bench_load(takt_ctx *ctx, const char *path,
                                                   takt_bench **bench);
/** Writes all cases in this format. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_write(const takt_bench *bench,
                                                    takt_bench_format format, takt_sink_fn *sink,
                                                    void *user);
/** Cases measured so far. */
TAKT_API size_t takt_bench_count(const takt_bench *bench);
/** The times of a case, or NULL beyond the last. Valid as long as the bench. */
TAKT_API const takt_timing *takt_bench_timing(const takt_bench *bench, size_t index);
/** "" if the file did not say. */
TAKT_API const char *takt_bench_fingerprint(const takt_bench *bench);
/** When it was measured, as takt_bench_info.timestamp has it; "" if the file did not say. */
TAKT_API const char *takt_bench_time(const takt_bench *bench);

/** Adds what another process measured with the same settings: times are pooled, and how the
 *  processes differ is kept, as `results.processes`.
 *
 *  @return TAKT_ERR_REQUIREMENT if their cases differ, TAKT_ERR_MEMORY: cases before the one that
 *  failed are then pooled */
TAKT_API TAKT_MUST_USE takt_status takt_bench_absorb(takt_bench *bench, const takt_bench *other);
/** Events per run of a case, such as instructions. `source`: "measured" or "simulated".
 *
 *  @return TAKT_ERR_ARGUMENT if there is no such case, TAKT_ERR_MEMORY */
TAKT_API TAKT_MUST_USE takt_status takt_bench_set_counter(takt_bench *bench, size_t index,
                                                          const char *event, double per_run,
                                                          const char *source);
/** 0 if the case has no such counter; `*source` is then NULL. */
TAKT_API double takt_bench_counter(const takt_bench *bench, size_t index, const char **source);
/** Interrupted within a case, or before all were measured; or its file says so. */
TAKT_API bool takt_bench_is_incomplete(const takt_bench *bench);
/** False if a case had an SLO and missed it. */
TAKT_API bool takt_bench_keeps_slo(const takt_bench *bench, size_t index);
/** How a case was computed; false if the result does not say. */
TAKT_API bool takt_bench_config(const takt_bench *bench, size_t index, takt_run_config *config);
/** Threads of a case's plan, and samples per run; 0 beyond the last. */
TAKT_API int takt_bench_threads(const takt_bench *bench, size_t index);
TAKT_API int64_t takt_bench_batch(const takt_bench *bench, size_t index);

typedef struct takt_batch_limits {
    size_t size;
    uint64_t memory; /**< limit for plans; default: the memory that this process may use */
    int threads;     /**< only consider cases with this many; default: all */
} takt_batch_limits;

/** Which batch size to use, from cases that differ in it. 0: none fits. */
typedef struct takt_batch_suggestion {
    int64_t best;    /**< most samples a second within the SLO and the memory */
    int64_t knee;    /**< smallest that reaches 90 % of the highest rate of all */
    int64_t formula; /**< max(1, min(memory / bytes a sample, 2 * threads)): a rule of thumb */
    double best_rate, knee_rate; /**< samples a second */
    double sample_bytes;         /**< memory per additional sample; 0: unknown */
    int threads;                 /**< of `best` */
    const char *precision;       /**< that its weights are stored in; NULL: unknown */
} takt_batch_suggestion;

/** Fills `*suggestion`; TAKT_ERR_ARGUMENT if the benchmark has no cases. */
TAKT_API TAKT_MUST_USE takt_status takt_suggest_batch(const takt_bench *bench,
                                                      const takt_batch_limits *limits,
                                                      takt_batch_suggestion *suggestion);

/** Runs this many times on this thread and counts an event ("instructions", "cycles",
 *  "cache-reads", "cache-misses", "branches", "branch-misses", "l1-reads", "l1-misses",
 *  "ll-misses") per run. TAKT_ERR_UNSUPPORTED where the kernel or the processor does not provide
 *  it. Meant for single-threaded sessions. */
TAKT_API TAKT_MUST_USE takt_status takt_session_count(takt_session *session, const char *event,
                                                      uint64_t runs, double *per_run);

/** Analysis of a result: the table, the most expensive steps, and what to look at. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_analyze(const takt_bench *bench, takt_format format,
                                                      takt_sink_fn *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
