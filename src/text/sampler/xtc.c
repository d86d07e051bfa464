/* xtc.c - excludes top choices at random: of the candidates that reach the threshold only the least
 * probable is kept. */
#include <string.h>

#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    size_t reach = 0;
    if (c->chance >= s->xtc_probability || s->xtc_threshold > 0.5 || c->count < 2)
        return;
    takt_candidates_shares(c);
    while (reach < c->count && c->at[reach].share >= s->xtc_threshold)
        reach++;
    if (reach < 2)
        return;
    c->count -= reach - 1;
    memmove(c->at, c->at + reach - 1, c->count * sizeof *c->at);
    c->has_shares = false;
}

const takt_sampler takt_sampler_xtc = {"xtc", "without the most probable, by chance", 'x', false,
                                       apply};
