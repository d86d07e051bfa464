/* min_p.c - keeps candidates that are at least p times as probable as the best. */
#include <math.h>

#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    if (s->min_p <= 0 || c->count == 0)
        return;
    takt_candidates_reach(c, (double)takt_candidates_best(c) + log(s->min_p));
}

const takt_sampler takt_sampler_min_p = {"min_p", "candidates near the best", 'm', false, apply};
