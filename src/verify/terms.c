/* terms.c - sums over the coefficients of a row, two at a time. */
#include "verify/terms.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double pair __attribute__((vector_size(16)));
typedef int64_t mask __attribute__((vector_size(16)));

enum { PARTS = 4, STEP = TAKT_TERMS_STEP }; /* sums at once: a chain of additions is slow */

static inline pair load(const double *p)
{
    pair v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline pair choose(mask m, pair yes, pair no)
{
    return (pair)((m & (mask)yes) | (~m & (mask)no));
}

static inline pair size_of(pair x)
{
    return (pair)((mask)x & (mask){INT64_MAX, INT64_MAX});
}

static double total(const pair *part)
{
    const pair sum = (part[0] + part[1]) + (part[2] + part[3]);
    return sum[0] + sum[1];
}

/* A coefficient of 0 with an infinite factor makes the sum NaN; with `masks` it is left out. Such
 * sums are rare, so they are computed again. */
static inline pair term(pair x, pair by, bool masks)
{
    return masks ? x * (pair)((mask)(x != 0) & (mask)by) : x * by;
}

typedef enum care { QUICK, SPARSE, MASKED } care;

static inline double sides(const double *row, const double *below, const double *above,
                           const double *error, size_t count, care how)
{
    pair part[PARTS] = {0}, cost[PARTS] = {0};
    double rest = 0, rest_cost = 0;
    size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        if (how == SPARSE && takt_terms_none(row + i))
            continue;
        for (size_t k = 0; k < PARTS; k++) {
            const size_t at = i + 2 * k;
            const pair x = load(row + at);
            const pair by = choose((mask)(x > 0), load(below + at), load(above + at));
            part[k] += term(x, by, how == MASKED);
            cost[k] += term(size_of(x), load(error + at), how == MASKED);
        }
    }
    for (; i < count; i++) {
        rest += row[i] == 0 ? 0 : row[i] * (row[i] > 0 ? below[i] : above[i]);
        rest_cost += row[i] == 0 ? 0 : fabs(row[i]) * error[i];
    }
    return total(part) + rest - (total(cost) + rest_cost) * (1 + 0x1p-20);
}

double takt_terms_sides(const double *row, const double *below, const double *above,
                        const double *error, size_t count)
{
    const double sum = sides(row, below, above, error, count, QUICK);
    return isnan(sum) ? sides(row, below, above, error, count, MASKED) : sum;
}

double takt_terms_few_sides(const double *row, const double *below, const double *above,
                            const double *error, size_t count)
{
    const double sum = sides(row, below, above, error, count, SPARSE);
    return isnan(sum) ? sides(row, below, above, error, count, MASKED) : sum;
}

static inline void store(double *p, pair v)
{
    memcpy(p, &v, sizeof v);
}

double takt_terms_lines_of(const double *restrict row, const takt_terms_lines *l,
                           double *restrict to, size_t count, bool adds)
{
    pair part[PARTS] = {0}, cost[PARTS] = {0};
    double rest = 0, rest_cost = 0;
    size_t i = 0;
    for (; i + STEP <= count; i += STEP)
        for (size_t k = 0; k < PARTS; k++) {
            const size_t at = i + 2 * k;
            const pair x = load(row + at);
            const mask is_below = (mask)(x > 0);
            const pair by = choose(is_below, load(l->below_at + at), load(l->above_at + at));
            const pair slope = choose(is_below, load(l->below + at), load(l->above + at));
            part[k] += x * by;
            cost[k] += size_of(x) * load(l->error + at);
            store(to + at, adds ? load(to + at) + x * slope : x * slope);
        }
    for (; i < count; i++) {
        const double x = row[i], slope = x > 0 ? l->below[i] : l->above[i];
        rest += x == 0 ? 0 : x * (x > 0 ? l->below_at[i] : l->above_at[i]);
        rest_cost += x == 0 ? 0 : fabs(x) * l->error[i];
        to[i] = adds ? to[i] + x * slope : x * slope;
    }
    const double sum = total(part) + rest - (total(cost) + rest_cost) * (1 + 0x1p-20);
    return isnan(sum) ? sides(row, l->below_at, l->above_at, l->error, count, MASKED) : sum;
}

/* Slopes of eight elements, times their coefficients. */
static inline void slopes(const double *row, const double *below, const double *above, double *to)
{
    for (size_t k = 0; k < PARTS; k++) {
        const pair x = load(row + 2 * k);
        store(to + 2 * k, x * choose((mask)(x > 0), load(below + 2 * k), load(above + 2 * k)));
    }
}

static inline void scatter(const double *restrict by, const uint32_t *restrict columns,
                           double *restrict to, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[columns != NULL ? columns[from + i] : from + i] += by[i];
}

double takt_terms_planes_of(const double *row, const takt_terms_planes *l, double *const to[2],
                            size_t count)
{
    pair part[PARTS] = {0}, cost[PARTS] = {0};
    double rest = 0, rest_cost = 0, by[STEP];
    size_t i = 0;
    for (; i + STEP <= count; i += STEP) {
        if (takt_terms_none(row + i))
            continue;
        for (size_t k = 0; k < PARTS; k++) {
            const size_t at = i + 2 * k;
            const pair x = load(row + at);
            const mask is_there = (mask)(x != 0);
            const pair off = choose((mask)(x > 0), load(l->below_at + at), load(l->above_at + at));
            part[k] += x * (pair)(is_there & (mask)off);
            cost[k] += size_of(x) * (pair)(is_there & (mask)load(l->error + at));
        }
        for (int k = 0; k < 2; k++) {
            slopes(row + i, l->below[k] + i, l->above[k] + i, by);
            scatter(by, l->columns[k], to[k], i, STEP);
        }
    }
    for (; i < count; i++) {
        const double x = row[i];
        rest += x == 0 ? 0 : x * (x > 0 ? l->below_at[i] : l->above_at[i]);
        rest_cost += x == 0 ? 0 : fabs(x) * l->error[i];
        for (int k = 0; k < 2; k++) {
            by[0] = x * (x > 0 ? l->below[k][i] : l->above[k][i]);
            scatter(by, l->columns[k], to[k], i, 1);
        }
    }
    return total(part) + rest - (total(cost) + rest_cost) * (1 + 0x1p-20);
}

static inline double least(const double *row, const double *lo, const double *hi, double own,
                           size_t count, bool masks)
{
    pair part[PARTS] = {0}, size[PARTS] = {0};
    double rest = 0, rest_size = 0;
    size_t i = 0;
    for (; i + STEP <= count; i += STEP)
        for (size_t k = 0; k < PARTS; k++) {
            const size_t at = i + 2 * k;
            const pair x = load(row + at), low = load(lo + at), high = load(hi + at);
            const pair l = size_of(low), h = size_of(high);
            part[k] += term(x, choose((mask)(x > 0), low, high), masks);
            size[k] += term(size_of(x), choose((mask)(l > h), l, h), masks);
        }
    for (; i < count; i++) {
        rest += row[i] == 0 ? 0 : row[i] * (row[i] > 0 ? lo[i] : hi[i]);
        rest_size += row[i] == 0 ? 0 : fabs(row[i]) * fmax(fabs(lo[i]), fabs(hi[i]));
    }
    return total(part) + rest - own * (total(size) + rest_size) * (1 + 0x1p-20);
}

double takt_terms_least(const double *row, const double *lo, const double *hi, double own,
                        size_t count)
{
    const double sum = least(row, lo, hi, own, count, false);
    return isnan(sum) ? least(row, lo, hi, own, count, true) : sum;
}

double takt_terms_span(const double *w, const double *lo, const double *hi, size_t count,
                       double *least, double *most)
{
    pair low[PARTS] = {0}, high[PARTS] = {0}, size[PARTS] = {0};
    double rest_low = 0, rest_high = 0, rest = 0;
    size_t i = 0;
    for (; i + STEP <= count; i += STEP)
        for (size_t k = 0; k < PARTS; k++) {
            const size_t at = i + 2 * k;
            const pair x = load(w + at), a = x * load(lo + at), b = x * load(hi + at);
            const pair l = size_of(a), h = size_of(b);
            const mask rises = (mask)(a < b);
            low[k] += choose(rises, a, b);
            high[k] += choose(rises, b, a);
            size[k] += choose((mask)(l > h), l, h);
        }
    for (; i < count; i++) {
        const double a = w[i] * lo[i], b = w[i] * hi[i];
        rest_low += a < b ? a : b;
        rest_high += a < b ? b : a;
        rest += fabs(a) > fabs(b) ? fabs(a) : fabs(b);
    }
    *least = total(low) + rest_low;
    *most = total(high) + rest_high;
    return total(size) + rest;
}
