/* range.c - the range of a tensor's values, and an integer grid for them. */
#include "shrink/range.h"

#include <math.h>
#include <string.h>

enum { BINS = TAKT_RANGE_BINS, STEP = 8 /* bins between two candidate cuts */ };

/* ---- seeing ---- */

/* Merges both sides to half as many bins, twice as wide. */
static void widen(takt_range_seen *r)
{
    for (size_t i = 0; i < BINS; i++) {
        const bool has = 2 * i + 1 < BINS;
        r->below[i] = has ? r->below[2 * i] + r->below[2 * i + 1] : 0;
        r->above[i] = has ? r->above[2 * i] + r->above[2 * i + 1] : 0;
    }
    r->width *= 2;
}

static double greatest_size(const float *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) && fabs((double)values[i]) > most)
            most = fabs((double)values[i]);
    return most;
}

void takt_range_add(takt_range_seen *r, const float *values, size_t count)
{
    const double most = greatest_size(values, count);
    if (r->width == 0 && count > 0) {
        int exponent = 0;
        (void)frexp(most > 0 ? most : 1, &exponent);
        r->width = ldexp(1.0, exponent) / BINS; /* most < BINS * width */
        r->least = INFINITY;
        r->greatest = -INFINITY;
    }
    while (most >= r->width * BINS)
        widen(r);
    const double inverse = r->width > 0 ? 1 / r->width : 0;
    for (size_t i = 0; i < count; i++) {
        const double v = (double)values[i];
        if (!isfinite(v)) {
            r->not_finite++;
            continue;
        }
        r->least = v < r->least ? v : r->least;
        r->greatest = v > r->greatest ? v : r->greatest;
        const size_t bin = (size_t)(fabs(v) * inverse);
        if (v < 0)
            r->below[bin < BINS ? bin : BINS - 1] += 1;
        else
            r->above[bin < BINS ? bin : BINS - 1] += 1;
    }
    r->count += count;
}

/* ---- ends ---- */

typedef struct ends {
    double lo, hi;
} ends;

static ends all_of(const takt_range_seen *r)
{
    const bool none = r->count == r->not_finite;
    return (ends){none || r->least > 0 ? 0 : r->least, none || r->greatest < 0 ? 0 : r->greatest};
}

static takt_quant_grid make_grid(ends e, int bits, bool is_symmetric)
{
    const int most = (1 << (bits - 1)) - 1;
    takt_quant_grid g = {.least = is_symmetric ? -most : -most - 1, .greatest = most};
    const double span =
        is_symmetric ? 2 * fmax(-e.lo, e.hi) : e.hi - e.lo; /* a symmetric grid wastes a level */
    g.scale = (float)(span / (g.greatest - g.least));
    if (!(g.scale > 1e-30F)) /* nothing but zeros */
        g.scale = 1;
    if (!is_symmetric)
        g.zero = (int)lrint(g.least - e.lo / (double)g.scale);
    g.zero = g.zero < g.least ? g.least : g.zero > g.greatest ? g.greatest : g.zero;
    return g;
}

/* The distance from zero beyond which at most `spare` values of a side are, counted from the far
 * end. */
static double without_tail(const double *side, double width, double spare, double end)
{
    double outside = 0;
    for (size_t i = BINS; i-- > 0;) {
        outside += side[i];
        if (outside > spare)
            return fmin(end, (double)(i + 1) * width);
    }
    return 0;
}

static ends by_percentile(const takt_range_seen *r, double percent)
{
    const ends all = all_of(r);
    const double spare = (double)(r->count - r->not_finite) * (1 - percent / 100) / 2;
    return (ends){-without_tail(r->below, r->width, spare, -all.lo),
                  without_tail(r->above, r->width, spare, all.hi)};
}

/* ---- least squares ---- */

/* The rounding error of the grid: the exact distance of each bin's centre. */
static double side_error(const double *side, double width, double sign, const takt_quant_grid *g)
{
    double sum = 0;
    for (size_t i = 0; i < BINS; i++) {
        if (side[i] == 0)
            continue;
        const double x = sign * ((double)i + 0.5) * width;
        double q = nearbyint(x / (double)g->scale) + g->zero;
        q = fmin(fmax(q, g->least), g->greatest);
        const double d = x - (q - g->zero) * (double)g->scale;
        sum += side[i] * d * d;
    }
    return sum;
}

static double error_of(const takt_range_seen *r, ends e, int bits, bool is_symmetric)
{
    const takt_quant_grid g = make_grid(e, bits, is_symmetric);
    return side_error(r->below, r->width, -1, &g) + side_error(r->above, r->width, 1, &g);
}

/* Optimises one end at a time, twice each: the error is nearly convex in it. */
static ends by_error(const takt_range_seen *r, int bits, bool is_symmetric)
{
    const ends all = all_of(r);
    ends best = all;
    double least = error_of(r, best, bits, is_symmetric);
    for (int round = 0; round < 2; round++)
        for (int which = 0; which < 2; which++)
            for (int step = 1; step < 64; step++) {
                ends e = best;
                *(which == 0 ? &e.hi : &e.lo) = (which == 0 ? all.hi : all.lo) * (1 - step / 64.0);
                const double error = error_of(r, e, bits, is_symmetric);
                if (error < least) {
                    least = error;
                    best = e;
                }
            }
    return best;
}

/* ---- entropy ---- */

/* Zeros are exact on every grid, and those of a relu would dominate the rest. */
static double mass_at(const takt_range_seen *r, size_t bin)
{
    bin = bin > 0 ? bin : 1;
    return r->below[bin] + r->above[bin];
}

/* The divergence of the distribution clipped at `bins`, with the values outside moved to its last
 * bin, from the same in `levels` levels. */
static double divergence(const takt_range_seen *r, size_t bins, size_t levels, double outside)
{
    double sum = 0, inside = 0;
    size_t last_used = 0;
    for (size_t i = 0; i < bins; i++) {
        inside += mass_at(r, i);
        last_used = mass_at(r, i) > 0 ? i : last_used;
    }
    for (size_t level = 0; level < levels; level++) {
        const size_t first = level * bins / levels, last = (level + 1) * bins / levels;
        double mass = 0, filled = 0;
        for (size_t i = first; i < last; i++) {
            mass += mass_at(r, i);
            filled += mass_at(r, i) > 0;
        }
        for (size_t i = first; i < last && mass > 0; i++) {
            const double own =
                (mass_at(r, i) + (i == last_used ? outside : 0)) / (inside + outside);
            if (own > 0)
                sum += own * log(own / (mass / filled / inside));
        }
    }
    return sum;
}

/* The clipping magnitude that loses the least information, as in other calibrators. */
static ends by_entropy(const takt_range_seen *r, int bits)
{
    double outside = 0, best = INFINITY;
    const bool is_one_sided = r->least >= 0 || r->greatest <= 0;
    const size_t levels = (size_t)1 << (is_one_sided ? bits : bits - 1);
    const ends all = all_of(r);
    size_t used = 0, chosen;
    for (size_t i = 0; i < BINS; i++)
        used = mass_at(r, i) > 0 ? i + 1 : used;
    chosen = used;
    for (size_t bins = used; bins >= levels && bins > used / 8; bins--) {
        const double lost = (used - bins) % STEP == 0 ? divergence(r, bins, levels, outside) : best;
        if (lost < best) {
            best = lost;
            chosen = bins;
        }
        outside += mass_at(r, bins - 1);
    }
    const double cut = (double)chosen * r->width;
    return (ends){fmax(all.lo, -cut), fmin(all.hi, cut)};
}

takt_quant_grid takt_range_grid(const takt_range_seen *r, takt_range_method method, double percent,
                                int bits, bool is_symmetric)
{
    ends e = all_of(r);
    if (method == TAKT_RANGE_PERCENTILE)
        e = by_percentile(r, percent);
    else if (method == TAKT_RANGE_MSE && bits <= 8) /* bins are coarser than finer grids */
        e = by_error(r, bits, is_symmetric);
    else if (method == TAKT_RANGE_ENTROPY && bits <= 8)
        e = by_entropy(r, bits);
    return make_grid(e, bits, is_symmetric);
}
