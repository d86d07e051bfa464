/**
 * usage.h - use of processors and memory by a program, and its limits.
 *
 *     takt_usage usage;
 *     takt_set_cpu_limit(ctx, 50);
 *     takt_resource_usage(ctx, &usage);
 *     printf("%.0f %% of the processors\n", usage.cpu_pct);
 *
 * Threads: any, at any time.
 */
#ifndef TAKT_USAGE_H
#define TAKT_USAGE_H

#include <takt/ctx.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Limits CPU use: a run of this context waits until the process has used at most this percentage
 *  of its processors since the limit was set or it was last idle. 100 lifts the limit.
 *
 *  @return TAKT_ERR_ARGUMENT for a number that is not above 0 and at most 100; the old limit then
 *  stays */
TAKT_API TAKT_MUST_USE takt_status takt_set_cpu_limit(takt_ctx *ctx, double percent);
/** Memory live at once through the context, in bytes (see takt_usage). Allocations beyond it fail
 *  with TAKT_ERR_MEMORY. TAKT_ERR_ARGUMENT if more is in use already. */
TAKT_API TAKT_MUST_USE takt_status takt_set_memory_limit(takt_ctx *ctx, uint64_t bytes);

typedef struct takt_usage {
    double cpu_pct; /**< of the processors that this process may use, since the last call */
    double cpu_limit_pct;
    uint64_t waited_ns;      /**< total time that runs waited for the limit */
    double memory_pct;       /**< live_bytes in per cent of the limit */
    uint64_t live_bytes;     /**< allocated through the context now */
    uint64_t peak_bytes;     /**< peak of live_bytes */
    uint64_t limit_bytes;    /**< memory limit of the context */
    uint64_t allocations;    /**< so far */
    uint64_t resident_bytes; /**< of the whole process; 0: unknown */
    uint64_t memory_bytes;   /**< limit for this process: the machine's or the control group's */
    int processors;
    uint64_t resident_peak_bytes; /**< peak of resident_bytes; 0: unknown */
} takt_usage;

/** `ctx` may be NULL: then the fields of the context are zero. */
TAKT_API void takt_resource_usage(takt_ctx *ctx, takt_usage *usage);

#ifdef __cplusplus
}
#endif
#endif
