/* top_n_sigma.c - keeps candidates whose score is within n standard deviations of the best (Tang et
 * al., 2024). */
#include <math.h>

#include "text/sampler.h"

static double deviation(const takt_candidates *c)
{
    double sum = 0, squares = 0;
    size_t count = 0;
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->at[i].score)) {
            sum += (double)c->at[i].score;
            count++;
        }
    const double mean = count > 0 ? sum / (double)count : 0;
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->at[i].score))
            squares += ((double)c->at[i].score - mean) * ((double)c->at[i].score - mean);
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
