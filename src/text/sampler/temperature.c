/* temperature.c - divides scores by the temperature. */
#include <float.h>
#include <math.h>

#include "text/sampler.h"

/* So cold that quotients do not fit: the best is certain. */
static bool is_frozen(const takt_candidates *c, double temperature)
{
    double most = 0;
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->at[i].score) && fabs((double)c->at[i].score) > most)
            most = fabs((double)c->at[i].score);
    return most / temperature > (double)FLT_MAX;
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    if (is_frozen(c, s->temperature)) {
        takt_candidates_keep(c, 1);
        return;
    }
    for (size_t i = 0; i < c->count; i++)
        c->at[i].score = (float)((double)c->at[i].score / s->temperature);
    c->has_shares = false;
}

const takt_sampler takt_sampler_temperature = {"temperature", "scores divided by the temperature",
                                               apply};
