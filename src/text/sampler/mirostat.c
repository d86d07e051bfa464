/* mirostat.c - Mirostat 2: keeps candidates whose surprise is at most a bound, which moves so that
 * the surprise of the text stays near tau (Basu et al., 2021). */
#include <math.h>

#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    takt_candidates_shares(c);
    size_t count = 1;
    while (count < c->count && c->at[count].share > 0 && -log2(c->at[count].share) <= *c->surprise)
        count++;
    c->has_shares = c->has_shares && count == c->count;
    c->count = count;
    takt_candidates_shares(c);
    const size_t chosen = takt_candidates_draw(c);
    *c->surprise -= s->mirostat_eta * (-log2(c->at[chosen].share) - s->mirostat_tau);
    c->at[0] = c->at[chosen];
    c->count = 1;
    c->has_shares = false;
}

const takt_sampler takt_sampler_mirostat = {"mirostat", "a text of even surprise", apply};
