/* compare.h - whether two things differ, from times taken alternately. */
#ifndef TAKT_MEASURE_COMPARE_H
#define TAKT_MEASURE_COMPARE_H

#include <takt/measure.h>

#include "base/error.h"
#include "base/json.h"

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
TAKT_MUST_USE takt_status takt_noise_floor(takt_ctx *ctx, const double *samples, size_t count,
                                           double *floor);
/* For two results that were not computed the same way: a line that says what differs. */
void takt_compared_unlike(takt_text *text, const takt_compared *of,
                          void (*name)(takt_text *text, const char *value));
/* For results from different processes: the difference they could show, and their grade. */
void takt_compared_doubt(takt_text *text, const takt_comparison *c, const takt_compared *of);
void takt_compared_grade(takt_json_writer *w, const char *key, const char *grade);
/* Warnings of a page: incomplete, or of a busy machine. */
void takt_compared_warn(takt_text *text, const takt_compared *of);
/* p of "the means of log ratios are outside (-margin, margin)": two one-sided t tests. */
double takt_equivalence_p(const double *values, size_t count, double margin);

#endif
