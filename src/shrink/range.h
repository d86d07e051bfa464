/* range.h - the values that a tensor takes, seen once, and the integer grid that suits them.
 *
 * A histogram has a fixed number of bins on both sides of zero. If a value is outside, bins are
 * merged in pairs and the range doubles, so memory is bounded and one pass over the data
 * suffices. */
#ifndef TAKT_SHRINK_RANGE_H
#define TAKT_SHRINK_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TAKT_RANGE_BINS = 2048 /* on each side */ };

typedef struct takt_range_seen {
    double least, greatest;
    double width; /* of a bin, a power of two; 0: nothing was seen */
    uint64_t count, not_finite;
    double below[TAKT_RANGE_BINS]; /* bin i holds (-(i + 1) width, -i width] */
    double above[TAKT_RANGE_BINS]; /* [i width, (i + 1) width) */
} takt_range_seen;

void takt_range_add(takt_range_seen *r, const float *values, size_t count);

typedef enum takt_range_method {
    TAKT_RANGE_MINMAX,
    TAKT_RANGE_PERCENTILE,
    TAKT_RANGE_MSE,
    TAKT_RANGE_ENTROPY,
} takt_range_method;

/* q = round(x / scale) + zero, from `least` to `greatest`. */
typedef struct takt_quant_grid {
    float scale;
    int zero, least, greatest;
} takt_quant_grid;

/* The grid of `bits` for the observed values: of signed integers, zero where it fits best, or in
 * the middle if it is symmetric. `percent`: the percentage of the values that TAKT_RANGE_PERCENTILE
 * keeps, such as 99.99. */
takt_quant_grid takt_range_grid(const takt_range_seen *r, takt_range_method method, double percent,
                                int bits, bool is_symmetric);

#endif
