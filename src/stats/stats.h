/* stats.h - statistics of a sample of times. */
#ifndef TAKT_STATS_STATS_H
#define TAKT_STATS_STATS_H

#include <takt/timing.h>

#include "base/error.h"
#include "base/inner.h"
#include "base/philox.h"

/* Ascending, in place, without allocation. */
TAKT_INNER void takt_sort_doubles(double *values, size_t count);

/* The following take ascending values; count > 0. */
TAKT_INNER double takt_quantile(const double *sorted, size_t count,
                                double p); /* linear between neighbours */
/* By order statistics: covers with at least `level`, whatever the distribution. */
TAKT_INNER takt_percentile takt_quantile_ci(const double *sorted, size_t count, double p,
                                            double level);
/* The smallest sample whose quantile p has an upper bound: 368 for 0.99. */
TAKT_INNER size_t takt_quantile_count(double p, double level);

TAKT_INNER double takt_sample_mean(const double *values, size_t count);
/* Standard deviation of a sample: divided by count - 1; 0 if count is 1. */
TAKT_INNER double takt_sample_deviation(const double *values, size_t count, double mean);

/* `count` values of `from`, drawn with replacement; *word is the generator's position. */
void takt_draw(const takt_philox_at *at, uint64_t *word, const double *from, double *to,
               size_t count);
/* The median of values in any order, which are reordered. */
TAKT_INNER double takt_median_in_place(double *values, size_t count);

/* The median of all averages of two (Hodges and Lehmann); needs count * (count + 1) / 2 scratch. */
double takt_hodges_lehmann(const double *values, size_t count, double *scratch);

/* Index at which the times settle: everything before is slower than the rest by more than the
 * noise, shown by Pettitt's rank test at 1 %. `scratch`: 2 * count numbers. */
size_t takt_settle_index(const double *values, size_t count, double *scratch);

#endif
