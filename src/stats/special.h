/* special.h - the distributions behind intervals. */
#ifndef TAKT_STATS_SPECIAL_H
#define TAKT_STATS_SPECIAL_H

#include "base/inner.h"

/* P(at most k of n succeed), each with probability p; 0 <= k. */
double takt_binomial_cdf(double k, double n, double p);
/* Student's t with `freedom` degrees: P(T <= t), and its inverse for 0 < p < 1. */
TAKT_INNER double takt_student_cdf(double t, double freedom);
TAKT_INNER double takt_student_quantile(double p, double freedom);
/* The standard normal: P(Z <= z). */
double takt_normal_cdf(double z);

#endif
