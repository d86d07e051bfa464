/* top_p.c - keeps the fewest best candidates whose probabilities reach p together. */
#include "text/sampler.h"

static void apply(takt_candidates *c, const takt_sampling *s)
{
    double sum = 0;
    if (s->top_p >= 1)
        return;
    takt_candidates_shares(c);
    for (size_t i = 0; i < c->count; i++) {
        sum += c->at[i].share;
        if (sum < s->top_p)
            continue;
        c->has_shares = c->has_shares && i + 1 == c->count;
        c->count = i + 1;
        break;
    }
}

const takt_sampler takt_sampler_top_p = {"top_p", "the best candidates that reach p together", 'p',
                                         false, apply};
