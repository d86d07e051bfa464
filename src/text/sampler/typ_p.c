/* typ_p.c - locally typical sampling: keeps the candidates whose surprise is nearest the expected
 * one, until their probabilities reach p (Meister et al., 2022). */
#include <math.h>

#include "text/sampler.h"

/* How far a candidate's surprise is from the mean. */
static double distance(const takt_candidate *c, double entropy)
{
    return c->share > 0 ? fabs(-log(c->share) - entropy) : INFINITY;
}

/* The candidates are sorted, best first; the typical ones are contiguous. The range grows from
 * where the surprise passes the mean, to the nearer side each time. */
static void apply(takt_candidates *c, const takt_sampling *s)
{
    double entropy = 0, sum = 0;
    size_t first = 0, end;
    if (s->typical_p >= 1)
        return;
    takt_candidates_shares(c);
    for (size_t i = 0; i < c->count; i++)
        entropy -= c->at[i].share > 0 ? c->at[i].share * log(c->at[i].share) : 0;
    while (first + 1 < c->count &&
           distance(&c->at[first + 1], entropy) < distance(&c->at[first], entropy))
        first++;
    sum = c->at[first].share;
    end = first + 1;
    while (sum < s->typical_p && (first > 0 || end < c->count)) {
        const double left = first > 0 ? distance(&c->at[first - 1], entropy) : INFINITY;
        const double right = end < c->count ? distance(&c->at[end], entropy) : INFINITY;
        if (first > 0 && left <= right)
            sum += c->at[--first].share;
        else if (end < c->count)
            sum += c->at[end++].share;
        else
            break;
    }
    for (size_t i = first; i < end; i++)
        c->at[i - first] = c->at[i];
    c->has_shares = c->has_shares && end - first == c->count;
    c->count = end - first;
}

const takt_sampler takt_sampler_typ_p = {"typ_p", "candidates whose surprise is near the expected",
                                         'y', false, apply};
