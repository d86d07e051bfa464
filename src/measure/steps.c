/* steps.c - where the level of a series changes permanently: any number of times, in either
 * direction. */
#include <math.h>

#include "stats/stats.h"

/* Levels are medians of this many neighbours, at least two. */
enum { WINDOW = 5, NEAR = 2 };

static double median_of(const double *values, size_t count)
{
    double sorted[2 * WINDOW];
    for (size_t i = 0; i < count; i++)
        sorted[i] = values[i];
    return takt_median_in_place(sorted, count);
}

static double distances(const double *values, size_t count, double level)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += fabs(values[i] - level);
    return sum;
}

/* A cut before values[at]: the distance of the levels, and how much the cut explains. */
typedef struct cut {
    double before, after, gain;
} cut;

static cut look(const double *values, size_t count, size_t at)
{
    const size_t left = at < WINDOW ? at : WINDOW;
    const size_t right = count - at < WINDOW ? count - at : WINDOW;
    const double *from = values + at - left;
    cut c = {median_of(from, left), median_of(values + at, right), 0};
    c.gain = distances(from, left + right, median_of(from, left + right)) -
             distances(from, left, c.before) - distances(values + at, right, c.after);
    /* A slow drift has different levels too, but no edge between them. */
    const double edge = fabs(values[at] + values[at + 1] - values[at - 1] - values[at - 2]) / NEAR;
    if (edge < 0.6 * fabs(c.after - c.before))
        c.gain = 0;
    return c;
}

/* Differences between neighbouring values are noise, except for the few steps: hence the median. */
static double noise_of(const double *values, size_t count, double *scratch)
{
    for (size_t i = 0; i + 1 < count; i++)
        scratch[i] = fabs(values[i + 1] - values[i]);
    return takt_median_in_place(scratch, count - 1) / 0.954; /* of two normal values */
}

static bool is_apart(size_t at, const size_t *steps, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((at > steps[i] ? at - steps[i] : steps[i] - at) <= WINDOW / 2)
            return false;
    return true;
}

static void put_in_order(size_t *steps, size_t count)
{
    for (size_t i = count; i > 1 && steps[i - 1] < steps[i - 2]; i--) {
        const size_t held = steps[i - 1];
        steps[i - 1] = steps[i - 2];
        steps[i - 2] = held;
    }
}

/* Whether the cut after the first two values belongs after the first: the second is like those that
 * follow. A cut there could not be tested, since a single value does not show its noise. */
static bool is_first(const double *values, size_t count)
{
    const size_t right = count - NEAR < WINDOW ? count - NEAR : WINDOW;
    const double after = median_of(values + NEAR, right);
    return fabs(values[1] - after) < fabs(values[1] - values[0]);
}

size_t takt_steps_find(const double *values, size_t count, double *scratch, size_t *steps,
                       size_t most)
{
    size_t found = 0;
    if (count < 2 * NEAR)
        return 0;
    /* The fewer values, the less is known about their noise. */
    const double noise = noise_of(values, count, scratch) * 3 * (1 + 4 / (double)count);
    while (found < most) {
        size_t best = 0;
        double gain = 0;
        for (size_t at = NEAR; at + NEAR <= count; at++) {
            const cut c = look(values, count, at);
            const double jump = fabs(c.after - c.before);
            if (c.gain > gain && jump > noise && jump > 0.01 * fabs(c.before) &&
                is_apart(at, steps, found)) {
                best = at;
                gain = c.gain;
            }
        }
        if (best == 0)
            break;
        steps[found++] = best == NEAR && is_first(values, count) ? 1 : best;
        put_in_order(steps, found);
    }
    return found;
}
