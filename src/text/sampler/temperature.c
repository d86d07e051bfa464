/* temperature.c - divides scores by the temperature. */
#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    for (size_t i = 0; i < c->count; i++)
        c->at[i].score = (float)((double)c->at[i].score / s->temperature);
    c->has_shares = false;
}

const takt_sampler takt_sampler_temperature = {"temperature", "scores divided by the temperature",
                                               apply};
