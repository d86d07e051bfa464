/* penalties.c - lowers the scores of recent tokens: by a factor, by frequency, and by presence. */
#include "text/sampler.h"

static void count(takt_candidates *c, const takt_sampling *s, bool is_end)
{
    const size_t last = s->repeat_last_n < 0 || (size_t)s->repeat_last_n > c->history_count
                            ? c->history_count
                            : (size_t)s->repeat_last_n;
    for (size_t i = c->history_count - last; i < c->history_count; i++) {
        uint16_t *times = &c->times[c->history[i]];
        *times = (uint16_t)(is_end ? 0 : *times < UINT16_MAX ? *times + 1 : *times);
    }
}

static void lower(float *of, const takt_sampling *s, uint16_t times)
{
    double score = (double)*of;
    score = score <= 0 ? score * s->repeat_penalty : score / s->repeat_penalty;
    score -= times * s->frequency_penalty + s->presence_penalty;
    *of = (float)score;
}

/* Tokens whose candidates are where they are expected; false: some are not, and keep their count.
 */
static bool lower_known(takt_candidates *c, const takt_sampling *s)
{
    bool all = true;
    for (size_t i = 0; i < c->history_count; i++) {
        const int32_t id = c->history[c->history_count - 1 - i];
        float *score = c->times[id] > 0 ? takt_candidates_score(c, id) : NULL;
        all = all && (score != NULL || c->times[id] == 0);
        if (score != NULL)
            lower(score, s, c->times[id]);
        c->times[id] = score != NULL ? 0 : c->times[id];
    }
    return all || c->scores != NULL;
}

static void apply(takt_candidates *c, const takt_sampling *s)
{
    if (s->repeat_last_n == 0 ||
        (s->repeat_penalty == 1 && s->frequency_penalty == 0 && s->presence_penalty == 0))
        return;
    count(c, s, false);
    const bool all = lower_known(c, s);
    for (size_t i = 0; i < c->count && !all; i++)
        if (c->times[c->at[i].id] > 0)
            lower(&c->at[i].score, s, c->times[c->at[i].id]);
    count(c, s, true);
    c->is_sorted = c->has_shares = false;
}

const takt_sampler takt_sampler_penalties = {"penalties", "lower scores of tokens that came before",
                                             'e', true, apply};
