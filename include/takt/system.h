/**
 * system.h - measured rates of disk, network and threads; is this machine fit for benchmarks?
 *
 *     takt_system_rates rates;
 *     takt_system_rates_get(ctx, ".", NULL, true, &rates);
 *     printf("%.0f MB/s to disk\n", rates.disk_write_mbs);
 *
 * Threads: one at a time; the call starts the threads that it measures.
 */
#ifndef TAKT_SYSTEM_H
#define TAKT_SYSTEM_H

#include <takt/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TAKT_SCALING = 12, TAKT_ISA_PEAKS = 24 };

/** Combined rates of this many threads. */
typedef struct takt_thread_rates {
    int threads;
    double f32_gflops, read_gbs; /**< multiply-adds, and reading memory */
} takt_thread_rates;

/** Multiply-adds of one element type by one instruction set: 10^9 operations a second. */
typedef struct takt_isa_peak {
    char type[8], isa[16]; /**< "int8", "i8mm" */
    double one_thread, all_threads;
    int threads; /**< number of all threads */
} takt_isa_peak;

/** Rates other than those of processor and memory. Zero: unknown; the reason says why. */
typedef struct takt_system_rates {
    char fingerprint[17];
    double disk_write_mbs, disk_read_mbs; /**< until it is on disk; bypassing the page cache */
    double disk_sync_ms;                  /**< one page, until it is on disk */
    bool disk_is_cached;              /**< the file system is in memory: these are memory rates */
    double loopback_mbs, loopback_us; /**< TCP from this machine to itself; round trip */
    char disk_reason[64], loopback_reason[64];
    takt_thread_rates scaling[TAKT_SCALING]; /**< 1, 2, 4, ... and all threads */
    int scaling_count;
    takt_isa_peak peaks[TAKT_ISA_PEAKS]; /**< of every instruction set that runs here */
    int peak_count;
    bool from_file;
} takt_system_rates;

/** Measured with a file beneath `folder`, in about a second; stored in `path` like ceilings.
 *
 *  @return TAKT_ERR_MEMORY; what cannot be measured is 0, with its reason. A `path` that cannot be
 *  written is only logged */
TAKT_API TAKT_MUST_USE takt_status takt_system_rates_get(takt_ctx *ctx, const char *folder,
                                                         const char *path, bool again,
                                                         takt_system_rates *rates);
/** takt_machine_describe with these too; both may be NULL. */
TAKT_API TAKT_MUST_USE takt_status takt_system_describe(takt_ctx *ctx,
                                                        const takt_ceilings *ceilings,
                                                        const takt_system_rates *rates,
                                                        takt_format format, takt_sink_fn *sink,
                                                        void *user);

/* ---- is this machine fit to measure on? ---- */

typedef struct takt_environment {
    double noise_pct;               /**< difference measured between a program and itself */
    double steal_pct, load, others; /**< others: processors kept busy by other programs */
    size_t warnings;
    char grade; /**< 'A' to 'D'; '?': machine load unknown, `load` is -1 */
} takt_environment;

/** Governor, turbo, SMT, limits, load, an A/A comparison; the report says how to fix each. */
TAKT_API TAKT_MUST_USE takt_status takt_environment_check(takt_ctx *ctx, takt_environment *found,
                                                          takt_format format, takt_sink_fn *sink,
                                                          void *user);

#ifdef __cplusplus
}
#endif
#endif
