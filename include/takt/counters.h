/**
 * counters.h - how a run uses the caches, in the report of a profile or a benchmark.
 *
 *     takt_cache_use use;
 *     takt_profile_model_cache(profile, &use);   // or counted by takt_session_count
 *     takt_profile_set_cache(profile, &use);     // takt_profile_print shows it from now on
 *
 * Threads: one at a time for each profile (takt.h).
 */
#ifndef TAKT_COUNTERS_H
#define TAKT_COUNTERS_H

#include <takt/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How a run uses the caches. Never compare figures of different sources. */
typedef struct takt_cache_use {
    const char *source; /**< "measured" (accesses), "simulated" (accesses), "modelled" (bytes) */
    double accesses;  /**< per run: data reads if measured, reads and writes if simulated, bytes of
                         the steps' operands if modelled */
    double l1_misses; /**< accesses that miss L1: the hit rate is 1 - l1_misses / accesses */
    double ll_misses; /**< accesses that reach memory; negative: unknown */
    uint64_t l1_bytes, ll_bytes; /**< of the caches that were simulated or modelled; 0: unknown */
    const char *note;            /**< why no better source was used, or NULL; copied */
} takt_cache_use;

/** Adds it to the report. TAKT_ERR_ARGUMENT for an unknown source, no accesses, or more misses than
 *  accesses. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_set_cache(takt_profile *profile,
                                                          const takt_cache_use *use);
/** The simple model: the operands of a step are in the smallest cache that they fit into (weights:
 *  that the whole plan's memory fits into), and data that a step uses twice counts once.
 *  TAKT_ERR_ARGUMENT for a profile without ceilings. */
TAKT_API TAKT_MUST_USE takt_status takt_profile_model_cache(const takt_profile *profile,
                                                            takt_cache_use *use);

/** The same for a case of a benchmark; its JSON has it as `results.cache`.
 *
 *  @return what takt_profile_set_cache returns; TAKT_ERR_ARGUMENT if there is no such case */
TAKT_API TAKT_MUST_USE takt_status takt_bench_set_cache(takt_bench *bench, size_t index,
                                                        const takt_cache_use *use);
/** The simple model of a case; TAKT_ERR_ARGUMENT if its steps were not profiled, or without
 *  ceilings. */
TAKT_API TAKT_MUST_USE takt_status takt_bench_model_cache(const takt_bench *bench, size_t index,
                                                          takt_cache_use *use);
/** The values that were set; false if none were. */
TAKT_API bool takt_bench_cache(const takt_bench *bench, size_t index, takt_cache_use *use);

#ifdef __cplusplus
}
#endif
#endif
