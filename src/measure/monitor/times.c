/* times.c - times of any number of runs in fixed memory: a histogram whose buckets grow with the
 * times. */
#include <math.h>

#include "measure/monitor/monitor.h"

static size_t bucket_of(double ns)
{
    const double at = log2(fmax(ns, 1)) * TAKT_BUCKETS_OCTAVE;
    return at < TAKT_BUCKETS - 1 ? (size_t)at : TAKT_BUCKETS - 1;
}

void takt_run_times_add(takt_run_times *t, double ns)
{
    t->min_ns = t->runs == 0 ? ns : fmin(t->min_ns, ns);
    t->max_ns = fmax(t->max_ns, ns);
    t->sum_ns += ns;
    t->runs++;
    uint32_t *bucket = &t->buckets[bucket_of(ns)];
    *bucket += *bucket < UINT32_MAX;
}

/* The middle of the bucket, clamped to the range of values seen. */
double takt_run_times_quantile(const takt_run_times *t, double part)
{
    const double want = ceil(part * (double)t->runs);
    double seen = 0;
    for (size_t i = 0; i < TAKT_BUCKETS && t->runs > 0; i++) {
        seen += t->buckets[i];
        if (seen >= want && seen > 0)
            return fmin(fmax(exp2(((double)i + 0.5) / TAKT_BUCKETS_OCTAVE), t->min_ns), t->max_ns);
    }
    return t->max_ns;
}
