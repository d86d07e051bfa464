/* min_p.c - keeps candidates that are at least p times as probable as the best. */
#include <math.h>

#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    if (s->min_p <= 0 || c->count == 0)
        return;
    takt_candidates_sort(c);
    const double least = (double)c->at[0].score + log(s->min_p);
    size_t count = 1;
    while (count < c->count && (double)c->at[count].score >= least)
        count++;
    c->has_shares = c->has_shares && count == c->count;
    c->count = count;
}

const takt_sampler takt_sampler_min_p = {"min_p", "candidates near the best", 'm', false, apply};
