/**
 * timing.h - how long runs take, how certain that is, and which of two sessions is faster.
 *
 *     takt_timing timing;
 *     takt_timing_options options = {.max_ns = 500000000};
 *     takt_session_time(session, &options, &timing);
 *     printf("%.3f ms\n", timing.stats.median / 1e6);      // with timing.stats.median_ci
 *     takt_timing_free(ctx, &timing);
 *
 * Times are in nanoseconds. An interval is a 95 % confidence interval unless said otherwise.
 *
 * Threads: one at a time for each session (takt.h).
 */
#ifndef TAKT_TIMING_H
#define TAKT_TIMING_H

#include <takt/session.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/** Computes the statistics of one or more finite numbers.
 *
 *  @return TAKT_ERR_ARGUMENT without a value or if one is not finite, TAKT_ERR_MEMORY: all figures
 *  are then 0 */
TAKT_API TAKT_MUST_USE takt_status takt_stats_compute(takt_ctx *ctx, const double *values,
                                                      size_t count, takt_stats *stats);

/* ---- timing a session ---- */

typedef struct takt_timing takt_timing;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_timing_options {
    size_t size;
    uint64_t runs;     /**< exact number; default: until the interval is narrow enough */
    uint64_t warmup;   /**< exact number; default: until the times have settled */
    bool no_warmup;    /**< no warm-up runs */
    uint64_t min_ns;   /**< minimum measuring time; default 0 */
    uint64_t max_ns;   /**< maximum measuring time unless `runs` is set; default 1 s */
    double ci_width;   /**< width of the median's interval over the median; default 0.01 */
    size_t max_runs;   /**< default 1,000,000 */
    bool include_copy; /**< every run begins with copying the inputs, and is timed with it */
    size_t min_runs;   /**< minimum, unless they take half of `max_ns`; default 0 */
    /** Called periodically between steady runs with the measurements so far, whose `stats` it may
     *  fill in; or NULL. A failure ends the measurement. */
    takt_status (*keep)(void *user, takt_timing *so_far);
    void *keep_user;
    uint64_t keep_ns; /**< interval; default 1 s, and never more than a part of the time */
} takt_timing_options;

struct takt_timing {
    double *samples; /**< of the steady phase, in order; the context's memory */
    size_t count, capacity;
    takt_stats stats;
    double first_ns;    /**< the very first run */
    size_t warmup_runs; /**< runs before the steady phase, the first included */
    double copy_ns;     /**< time to copy the inputs once, which a run does not do */
    bool is_settled;    /**< the interval became as narrow as requested */
    bool is_complete;   /**< not interrupted by a failure or cancellation */
};

/** Inputs must be bound or written. A failed or cancelled run ends the measurement: what was
 *  measured stays in `timing`, and the status is that of the run (see takt_session_error). */
TAKT_API TAKT_MUST_USE takt_status takt_session_time(takt_session *session,
                                                     const takt_timing_options *options,
                                                     takt_timing *timing);
/** Frees its times; accepts a zeroed one. */
TAKT_API void takt_timing_free(takt_ctx *ctx, takt_timing *timing);

/* ---- comparing ---- */

typedef enum takt_verdict {
    TAKT_SAME,         /**< within the margin */
    TAKT_FASTER,       /**< the second is faster than the first */
    TAKT_SLOWER,       /**< the second is slower than the first */
    TAKT_INCONCLUSIVE, /**< too noisy, or too few blocks */
} takt_verdict;

typedef struct takt_comparison {
    takt_verdict verdict;
    double ratio;      /**< time of the second over time of the first */
    takt_interval ci;  /**< of the ratio */
    double margin;     /**< 0.01: differences up to 1 % count as equal */
    double same_p;     /**< of the equivalence test */
    double detectable; /**< smallest change that this many blocks detect 8 times in 10 */
    double noise;      /**< difference found when comparing the first with itself */
    size_t blocks;
    size_t more_blocks; /**< blocks still needed, if inconclusive; for results: processes each */
    double a_ns, b_ns;  /**< blocks: A's median, and that times the ratio; results: medians */
    size_t processes;   /**< results measured separately: the smaller number of processes; else 0 */
} takt_comparison;

/** Zero in any field means the default, so `{0}` is always valid. */
typedef struct takt_compare_options {
    size_t size;
    size_t blocks;   /**< default: until the verdict is clear, 8 at least, or the time is up */
    uint64_t max_ns; /**< default 3 s */
    double margin;   /**< default 0.01 */
    /** Recreates both sessions before every block, in alternating order; or NULL. Memory placement
     *  can make a difference of 1 % for the life of a session. */
    takt_status (*renew)(void *user, bool b_first, takt_session **a, takt_session **b);
    void *user;
    /** 0.03: every run of the second is slowed down by 3 %, by waiting. This shows whether a
     *  comparison would detect such a change on this machine now. */
    double inject;
    takt_timing *a_blocks, *b_blocks; /**< the medians of the blocks, for takt_timing_free; or
                                           NULL */
} takt_compare_options;

/** Runs two sessions alternately, A B B A, so that drift affects both. With `renew` the sessions
 *  given are those of the first block. If a session is cancelled this returns TAKT_ERR_CANCELLED;
 *  from the fourth block on, the comparison covers what was measured: its `blocks` is not 0. */
TAKT_API TAKT_MUST_USE takt_status takt_session_compare(takt_session *a, takt_session *b,
                                                        const takt_compare_options *options,
                                                        takt_comparison *comparison);
/** Compares times that were not interleaved, cut into blocks: drift shows up as a difference.
 *
 *  @return TAKT_ERR_ARGUMENT for fewer than four times, TAKT_ERR_MEMORY: the verdict is then
 *  TAKT_INCONCLUSIVE */
TAKT_API TAKT_MUST_USE takt_status takt_timing_compare(takt_ctx *ctx, const takt_timing *a,
                                                       const takt_timing *b, double margin,
                                                       takt_comparison *comparison);
/** "faster"; never NULL. */
TAKT_API const char *takt_verdict_name(takt_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
