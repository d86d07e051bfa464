/* stats.h - statistics of a sample of times. */
#ifndef TAKT_MEASURE_STATS_H
#define TAKT_MEASURE_STATS_H

#include <takt/measure.h>

#include "base/error.h"
#include "base/philox.h"

/* Ascending, in place, without allocation. */
void takt_sort_doubles(double *values, size_t count);

/* The following take ascending values; count > 0. */
double takt_quantile(const double *sorted, size_t count, double p); /* linear between neighbours */
/* By order statistics: covers with at least `level`, whatever the distribution. */
takt_percentile takt_quantile_ci(const double *sorted, size_t count, double p, double level);
/* The smallest sample whose quantile p has an upper bound: 368 for 0.99. */
size_t takt_quantile_count(double p, double level);

double takt_sample_mean(const double *values, size_t count);
/* Of a sample: divided by count - 1; 0 if count is 1. */
double takt_sample_deviation(const double *values, size_t count, double mean);

/* `count` values of `from`, drawn with replacement; *word is the generator's position. */
void takt_draw(const takt_philox_at *at, uint64_t *word, const double *from, double *to,
               size_t count);
/* Of values in any order, which are reordered. */
double takt_median_in_place(double *values, size_t count);

/* The median of all averages of two (Hodges and Lehmann); needs count * (count + 1) / 2 scratch. */
double takt_hodges_lehmann(const double *values, size_t count, double *scratch);

/* Index at which the times settle: everything before is slower than the rest by more than the
 * noise, shown by Pettitt's rank test at 1 %. `scratch`: 2 * count numbers. */
size_t takt_settle_index(const double *values, size_t count, double *scratch);

/* Indices at which the level of a series changes permanently, ascending: the medians of up to five
 * values on each side differ by 1 % and by three times the noise, which is the difference between
 * neighbours. At most `most`; returns their number. `scratch`: count numbers. */
size_t takt_steps_find(const double *values, size_t count, double *scratch, size_t *steps,
                       size_t most);

#endif
