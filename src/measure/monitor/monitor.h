/* monitor.h - what a monitor holds: a histogram of times, and one sample per interval. */
#ifndef TAKT_MEASURE_MONITOR_MONITOR_H
#define TAKT_MEASURE_MONITOR_MONITOR_H

#include <takt/monitor.h>

#include "base/lock.h"

/* 64 buckets an octave: a time is known to 1 %. */
enum { TAKT_BUCKETS_OCTAVE = 64, TAKT_BUCKETS = 48 * TAKT_BUCKETS_OCTAVE, TAKT_SAMPLES = 4096 };

/* Times of runs, in memory of a fixed size. */
typedef struct takt_run_times {
    uint64_t runs, failures;
    double sum_ns, min_ns, max_ns;
    uint32_t buckets[TAKT_BUCKETS];
} takt_run_times;

/* Where an interval began. */
typedef struct takt_monitor_mark {
    uint64_t wall_ns, cpu_ns;
    uint64_t reads, misses; /* of the counters */
} takt_monitor_mark;

struct takt_monitor {
    takt_ctx *ctx;
    takt_monitor_options options;
    takt_lock lock;
    double processors;
    takt_monitor_mark first, last;
    int reads, misses; /* counters, or negative */
    char cache_reason[128];
    takt_run_times all, part;
    size_t count;
    takt_metrics samples[TAKT_SAMPLES];
};

void takt_run_times_add(takt_run_times *t, double ns);
double takt_run_times_quantile(const takt_run_times *t, double part);

#endif
