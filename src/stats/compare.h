/* compare.h - whether two things differ, from times taken alternately. */
#ifndef TAKT_STATS_COMPARE_H
#define TAKT_STATS_COMPARE_H

#include <takt/timing.h>

#include "base/error.h"
#include "base/inner.h"

/* From the medians of A and B in each of `count` blocks. `margin` (0.01 = 1 %) is the difference
 * below which they count as the same. */
TAKT_MUST_USE takt_status takt_compare_blocks(takt_ctx *ctx, const double *a, const double *b,
                                              size_t count, double margin,
                                              takt_comparison *comparison);
/* With 8 blocks or more, and `noise`: the difference that A shows against itself, taken between
 * neighbouring blocks. A smaller difference of B is not significant. */
TAKT_MUST_USE takt_status takt_compare_finish(takt_ctx *ctx, const double *a, const double *b,
                                              size_t count, double margin,
                                              takt_comparison *comparison);
/* When a sequential comparison tests its data: after 8, 24, 72, ... blocks. Testing more often
 * finds a difference by chance sooner or later. */
bool takt_compare_is_look(size_t blocks);
/* Whether it may end there: the same, or an interval that is entirely outside the margin. */
bool takt_compare_is_done(const takt_comparison *c);
enum { TAKT_NOISE_TIMES = 48 }; /* with fewer there is no noise floor */
/* The smallest difference that these times could show, as a fraction of their median: they are
 * divided into blocks that are A and B alternately. 0 if there are too few. */
TAKT_INNER TAKT_MUST_USE takt_status takt_noise_floor(takt_ctx *ctx, const double *samples,
                                                      size_t count, double *floor);
/* p of "the means of log ratios are outside (-margin, margin)": two one-sided t tests. */
double takt_equivalence_p(const double *values, size_t count, double margin);

#endif
