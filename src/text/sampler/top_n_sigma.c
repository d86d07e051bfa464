/* top_n_sigma.c - keeps candidates whose score is within n standard deviations of the best (Tang et
 * al., 2024). */
#include <math.h>

#include "text/sampler.h"

enum { LANES = 8 };

/* Sums of finite scores less `mean`, or of their squares, and how many there are. There are several
 * partial sums, since a single one would wait for each addition. */
typedef struct sums {
    double at[LANES];
    size_t count;
} sums;

static void add(sums *s, const takt_candidate *k, size_t n, double mean, bool squares)
{
    for (size_t i = 0; i < n; i++) {
        const bool is_finite = isfinite(k[i].score);
        const double x = is_finite ? (double)k[i].score - mean : 0;
        s->at[i] += squares ? x * x : x;
        s->count += is_finite;
    }
}

static double total(const takt_candidates *c, double mean, bool squares, size_t *count)
{
    sums s = {0};
    double sum = 0;
    size_t i = 0;
    for (; i + LANES <= c->count; i += LANES)
        add(&s, c->at + i, LANES, mean, squares);
    add(&s, c->at + i, c->count - i, mean, squares);
    for (size_t k = 0; k < LANES; k++)
        sum += s.at[k];
    *count = s.count;
    return sum;
}

static double deviation(const takt_candidates *c)
{
    size_t count;
    const double sum = total(c, 0, false, &count), mean = count > 0 ? sum / (double)count : 0;
    const double squares = total(c, mean, true, &count);
    return count > 0 ? sqrt(squares / (double)count) : 0;
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    float best = -HUGE_VALF;
    size_t kept = 0;
    if (s->top_n_sigma <= 0 || c->count < 2)
        return;
    for (size_t i = 0; i < c->count; i++)
        best = c->at[i].score > best ? c->at[i].score : best;
    const double least = (double)best - s->top_n_sigma * deviation(c);
    for (size_t i = 0; i < c->count; i++)
        if ((double)c->at[i].score >= least)
            c->at[kept++] = c->at[i];
    c->has_shares = c->has_shares && kept == c->count;
    c->count = kept;
}

const takt_sampler takt_sampler_top_n_sigma = {
    "top_n_sigma", "candidates within n deviations of the best", 's', false, apply};
