/* mirostat.c - Mirostat 1 and 2: keep candidates so that the surprise of the text stays near tau,
 * by a bound that moves with every token (Basu et al., 2021). */
#include <math.h>

#include "text/sampler.h"

static void keep(takt_candidates *c, size_t count)
{
    c->has_shares = c->has_shares && count == c->count;
    c->count = count;
    takt_candidates_shares(c);
}

/* The exponent of Zipf's law that fits the shares of the best candidates. */
static double zipf(const takt_candidates *c)
{
    enum { BEST = 100 };
    double products = 0, squares = 0;
    for (size_t i = 0; i + 1 < c->count && i + 1 < BEST && c->at[i + 1].share > 0; i++) {
        const double t = log((double)(i + 2) / (double)(i + 1));
        products += t * log(c->at[i].share / c->at[i + 1].share);
        squares += t * t;
    }
    return squares > 0 ? products / squares : 0;
}

/* Mirostat 1: keeps as many as have the target surprise if shares follow that law. */
static size_t by_law(const takt_candidates *c)
{
    const double s = zipf(c), beyond = s - 1, all = (double)c->count;
    const double part = fabs(beyond) < 1e-9 ? 1 / log(all) : beyond / (1 - pow(all, -beyond));
    const double count = pow(part * exp2(*c->surprise), 1 / s);
    return !(s > 0) || !(count < all) ? c->count : count < 1 ? 1 : (size_t)count;
}

/* Mirostat 2: keeps those whose own surprise is at most the bound. */
static size_t by_surprise(const takt_candidates *c)
{
    size_t count = 1;
    while (count < c->count && c->at[count].share > 0 && -log2(c->at[count].share) <= *c->surprise)
        count++;
    return count;
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    takt_candidates_shares(c);
    keep(c, s->mirostat == 1 ? by_law(c) : by_surprise(c));
    const size_t chosen = takt_candidates_draw(c);
    *c->surprise -= s->mirostat_eta * (-log2(c->at[chosen].share) - s->mirostat_tau);
    c->at[0] = c->at[chosen];
    c->count = 1;
    c->has_shares = false;
}

const takt_sampler takt_sampler_mirostat = {"mirostat", "a text of even surprise", '\0', false,
                                            apply};
