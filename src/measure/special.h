/* special.h - the distributions behind intervals. */
#ifndef TAKT_MEASURE_SPECIAL_H
#define TAKT_MEASURE_SPECIAL_H

/* P(at most k of n succeed), each with probability p; 0 <= k. */
double takt_binomial_cdf(double k, double n, double p);
/* Student's t with `freedom` degrees: P(T <= t), and its inverse for 0 < p < 1. */
double takt_student_cdf(double t, double freedom);
double takt_student_quantile(double p, double freedom);
/* The standard normal: P(Z <= z). */
double takt_normal_cdf(double z);

#endif
