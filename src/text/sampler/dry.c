/* dry.c - DRY: penalises a token that would continue a repetition of earlier text, the more the
 * longer the repetition is. Breakers, such as line ends, end a repetition. */
#include <math.h>

#include "text/sampler.h"

bool takt_sampling_has_dry(const takt_sampling *s)
{
    return s->dry_multiplier != 0 && s->dry_base >= 1;
}

/* ---- breakers ---- */

/* The first breaker of a token; `*end` is past its last. */
static size_t breakers_of(const takt_breakers *b, int32_t id, size_t *end)
{
    size_t low = 0, high = b != NULL ? b->count : 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (b->at[middle].head < id)
            low = middle + 1;
        else
            high = middle;
    }
    *end = low;
    while (b != NULL && *end < b->count && b->at[*end].head == id)
        ++*end;
    return low;
}

static bool follows(const takt_breakers *b, const takt_breaker *k, const int32_t *next, size_t left)
{
    if (k->tail_count > left)
        return false;
    for (size_t i = 0; i < k->tail_count; i++)
        if (b->tails[k->tail + i] != next[i])
            return false;
    return true;
}

/* Whether a breaker begins at `at`, and the number of tokens after the head of the longest one. */
static bool breaks(const takt_breakers *b, const int32_t *at, size_t left, size_t *longest)
{
    size_t end;
    bool found = false;
    for (size_t i = breakers_of(b, *at, &end); i < end; i++) {
        if (!follows(b, &b->at[i], at + 1, left))
            continue;
        *longest = !found || b->at[i].tail_count > *longest ? b->at[i].tail_count : *longest;
        found = true;
    }
    return found;
}

/* Number of tokens after the last breaker: the maximum length of a repetition. */
static size_t limit(const takt_breakers *b, const int32_t *ids, size_t count)
{
    size_t longest = 0;
    for (size_t left = 0; left < count; left++)
        if (breaks(b, ids + count - 1 - left, left, &longest))
            return left - longest;
    return count;
}

static bool is_breaker(const takt_breakers *b, int32_t id)
{
    size_t end;
    for (size_t i = breakers_of(b, id, &end); i < end; i++)
        if (b->at[i].tail_count == 0)
            return true;
    return false;
}

/* ---- repetitions ---- */

/* runs[k]: how many tokens before the last k equal those at the end. Uses the Z algorithm from the
 * end, in time proportional to `count`. */
static void measure(const int32_t *ids, size_t count, uint32_t *runs)
{
    const int32_t *last = ids + count - 1;
    size_t from = 0, end = 0; /* the match [from, end) that reaches furthest */
    runs[0] = (uint32_t)count;
    for (size_t k = 1; k < count; k++) {
        size_t n = k < end ? end - k : 0;
        if (n > 0 && runs[k - from] < n)
            n = runs[k - from];
        else
            while (k + n < count && last[-(ptrdiff_t)n] == last[-(ptrdiff_t)(k + n)])
                n++;
        runs[k] = (uint32_t)n;
        if (k + n > end) {
            from = k;
            end = k + n;
        }
    }
}

/* The longest repetition that each token would continue; stored in `times`, plus 1. */
static void mark(takt_candidates *c, const int32_t *ids, size_t count, size_t most, size_t allowed)
{
    for (size_t k = 1; k < count; k++) {
        size_t n = c->runs[k] < most ? c->runs[k] : most;
        uint16_t *longest = &c->times[ids[count - k]];
        if (n < allowed)
            continue;
        n = n < UINT16_MAX ? n + 1 : UINT16_MAX;
        *longest = (uint16_t)n > *longest ? (uint16_t)n : *longest;
    }
}

static double penalty(const takt_sampling *s, size_t length)
{
    const double most = log(3.4028234663852886e38); /* the power stays a float */
    const double power = (double)length - (double)s->dry_allowed_length;
    const double bound = s->dry_base > 1 ? floor(most / log(s->dry_base)) : power;
    return s->dry_multiplier * pow(s->dry_base, power < bound ? power : bound);
}

static void lower(const takt_candidates *c, const takt_sampling *s, int32_t id, float *score)
{
    const uint16_t longest = c->times[id];
    if (longest > 0 && !is_breaker(c->breakers, id))
        *score = (float)((double)*score - penalty(s, (size_t)longest - 1));
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    const bool is_all =
        s->dry_penalty_last_n < 0 || (uint64_t)s->dry_penalty_last_n > c->history_count;
    const size_t count = is_all ? c->history_count : (size_t)s->dry_penalty_last_n;
    const size_t allowed = (size_t)s->dry_allowed_length;
    if (!takt_sampling_has_dry(s) || c->runs == NULL || count <= allowed)
        return;
    const int32_t *ids = c->history + (c->history_count - count); /* not empty here */
    const size_t most = limit(c->breakers, ids, count);
    if (most < allowed)
        return;
    measure(ids, count, c->runs);
    mark(c, ids, count, most, allowed);
    bool all = true;
    for (size_t i = 0; i < count; i++) { /* candidates that are where they are expected */
        float *score = c->times[ids[i]] > 0 ? takt_candidates_score(c, ids[i]) : NULL;
        all = all && (score != NULL || c->times[ids[i]] == 0);
        if (score != NULL)
            lower(c, s, ids[i], score);
        c->times[ids[i]] = score != NULL ? 0 : c->times[ids[i]];
    }
    for (size_t i = 0; c->scores == NULL && i < c->count && !all; i++)
        lower(c, s, c->at[i].id, &c->at[i].score);
    for (size_t i = 0; i < count; i++)
        c->times[ids[i]] = 0;
    c->is_sorted = c->has_shares = false;
}

const takt_sampler takt_sampler_dry = {"dry", "lower scores of tokens that go on repeating", 'd',
                                       true, apply};
