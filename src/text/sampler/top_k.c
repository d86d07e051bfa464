/* top_k.c - keeps the k best candidates. */
#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    if (s->top_k <= 0 || (size_t)s->top_k >= c->count)
        return;
    takt_candidates_sort(c);
    c->count = (size_t)s->top_k;
    c->has_shares = false;
}

const takt_sampler takt_sampler_top_k = {"top_k", "the k best candidates", apply};
