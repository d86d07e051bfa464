/* temperature.c - divides scores by the temperature, which may depend on the model's certainty. */
#include <float.h>
#include <math.h>

#include "text/sampler.h"

/* So low that quotients overflow: the best is certain. */
static bool is_frozen(const takt_candidates *c, double temperature)
{
    double most = 0;
    for (size_t i = 0; i < c->count; i++)
        if (isfinite(c->at[i].score) && fabs((double)c->at[i].score) > most)
            most = fabs((double)c->at[i].score);
    return most / temperature > (double)FLT_MAX;
}

/* Dynamic temperature: low where one candidate is certain, high where all are alike. */
static double dynamic(takt_candidates *c, const takt_sampling *s)
{
    const double least = fmax(0, s->temperature - s->dynatemp_range);
    const double most = s->temperature + s->dynatemp_range;
    double entropy = 0;
    takt_candidates_shares(c);
    for (size_t i = 0; i < c->count; i++)
        entropy -= c->at[i].share > 0 ? c->at[i].share * log(c->at[i].share) : 0;
    const double part = entropy / log((double)c->count);
    return least + (most - least) * pow(fmax(part, 0), s->dynatemp_exponent);
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    takt_candidates_list(c);
    const double temperature =
        s->dynatemp_range > 0 && c->count > 1 ? dynamic(c, s) : s->temperature;
    if (!(temperature > 0) || is_frozen(c, temperature)) {
        takt_candidates_keep(c, 1);
        return;
    }
    for (size_t i = 0; i < c->count; i++)
        c->at[i].score = (float)((double)c->at[i].score / temperature);
    c->has_shares = false;
}

const takt_sampler takt_sampler_temperature = {"temperature", "scores divided by the temperature",
                                               't', false, apply};
