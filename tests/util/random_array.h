/* random_array.h - reproducible values for the inputs of graphs. */
#ifndef TAKT_TESTS_UTIL_RANDOM_ARRAY_H
#define TAKT_TESTS_UTIL_RANDOM_ARRAY_H

#include "ir/array.h"
#include "lang/parse.h"

typedef struct takt_random {
    uint64_t state;
} takt_random;

uint64_t takt_random_bits(takt_random *r);
/* 0 .. count - 1. */
size_t takt_random_below(takt_random *r, size_t count);
double takt_random_between(takt_random *r, double low, double high);

/* Values of a range, both ends included. Without one (NULL or not set): floats from -2 to 2,
 * small integers with a few from the whole range among them, both bools. */
TAKT_MUST_USE takt_status takt_random_array(takt_ctx *ctx, takt_random *r, const takt_type *type,
                                            const takt_sample_range *range, takt_array *out);

#endif
