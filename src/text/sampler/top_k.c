/* top_k.c - keeps the k best candidates. */
#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    if (s->top_k > 0 && (uint64_t)s->top_k < c->count)
        takt_candidates_keep(c, (size_t)s->top_k);
}

const takt_sampler takt_sampler_top_k = {"top_k", "the k best candidates", 'k', false, apply};
