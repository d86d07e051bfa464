/* check_lines.h - shared by checks of convolutions by lines: sums that are -0, and epilogues.
 */
#ifndef TAKT_TESTS_CHECK_LINES_H
#define TAKT_TESTS_CHECK_LINES_H

#include <math.h>

#include "check.h"

typedef struct check_lines {
    float *x, *w, *bias;
    size_t in, weights, channels;
} check_lines;

typedef struct check_end {
    bool relu, clips;
    float lo, limit;
} check_end;

/* Every sum is -0, and some with the bias too. */
static inline void check_minus_zeros(const check_lines *o)
{
    for (size_t i = 0; i < o->in; i++)
        o->x[i] = 1e-30f;
    for (size_t i = 0; i < o->weights; i++)
        o->w[i] = -1e-30f;
    for (size_t i = 0; i < o->channels; i++)
        o->bias[i] = i % 3 == 0 ? 0.0f : -0.0f;
}

static inline check_end check_any_end(takt_check *c)
{
    static const float bounds[] = {-INFINITY, -1.5f, -0.0f, 0.0f, 1.5f, INFINITY};
    const int end = (int)check_below(c, 3);
    const float lo = bounds[check_below(c, 6)];
    return (check_end){.relu = end == 1,
                       .clips = end == 2,
                       .lo = lo,
                       .limit = check_below(c, 2) ? bounds[check_below(c, 6)] : INFINITY};
}

#endif
