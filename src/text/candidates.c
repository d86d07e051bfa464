/* candidates.c - the tokens that samplers choose from.
 *
 * A vocabulary has 10^5 tokens, of which few are left after the first sampler that cuts. So tokens
 * are first kept as scores alone, in passes that take four or eight at a time; they become a list
 * when a sampler needs one.
 */
#include <math.h>
#include <string.h>

#include "text/sampler.h"

enum { BLOCK = 32 }; /* scores that are looked at together */

static bool better(const takt_candidate *a, const takt_candidate *b)
{
    return a->score != b->score ? a->score > b->score : a->id < b->id;
}

/* ---- scores ---- */

/* The copy is the last quarter of the room for the list: the written part of entry i (not its
 * share) ends before score i, so a list can be written from the beginning while scores are read. */
void takt_candidates_fill(takt_candidates *c, const float *scores, size_t count)
{
    size_t i = 0;
    int has_nan = 0;
    c->scores = (float *)(void *)c->at + 3 * count;
    memcpy(c->scores, scores, count * sizeof *scores);
    for (; i + BLOCK <= count; i += BLOCK)
        for (size_t k = 0; k < BLOCK; k++)
            has_nan |= scores[i + k] != scores[i + k];
    for (; i < count; i++)
        has_nan |= scores[i] != scores[i];
    c->count = c->tokens = count;
    c->least = -HUGE_VALF;
    c->has_numbers = !has_nan;
    c->is_sorted = c->has_shares = false;
}

void takt_candidates_list(takt_candidates *c)
{
    const bool has_all = c->count == c->tokens; /* NaN does not reach anything */
    size_t kept = 0;
    for (size_t i = 0; c->scores != NULL && i < c->tokens; i++) {
        const float score = c->scores[i];
        c->at[kept].id = (int32_t)i; /* without a branch, which would be unpredictable */
        c->at[kept].score = score;
        kept += has_all || score >= c->least;
    }
    c->count = c->scores != NULL ? kept : c->count;
    c->scores = NULL;
    c->least = -HUGE_VALF;
}

float *takt_candidates_score(takt_candidates *c, int32_t id)
{
    const size_t at = (size_t)id;
    if (c->least > -HUGE_VALF) /* a score that is lowered stays a candidate */
        takt_candidates_list(c);
    if (c->scores != NULL)
        return at < c->tokens ? &c->scores[at] : NULL;
    return at < c->count && c->at[at].id == id ? &c->at[at].score : NULL;
}

/* The least float that is not below `least`: floats can be compared without becoming doubles. */
static float float_from(double least)
{
    const float near = (float)least;
    return (double)near < least ? nextafterf(near, HUGE_VALF) : near;
}

static size_t count_from(const float *scores, size_t count, float least)
{
    size_t i = 0, reach = 0;
    for (; i + BLOCK <= count; i += BLOCK) {
        int part = 0;
        for (size_t k = 0; k < BLOCK; k++)
            part += scores[i + k] >= least;
        reach += (size_t)part;
    }
    for (; i < count; i++)
        reach += scores[i] >= least;
    return reach;
}

void takt_candidates_reach(takt_candidates *c, double score)
{
    const float least = float_from(score);
    size_t kept = 0;
    if (c->scores != NULL && c->has_numbers) {
        c->least = least > c->least ? least : c->least;
        c->count = count_from(c->scores, c->tokens, c->least);
        return;
    }
    takt_candidates_list(c);
    for (size_t i = 0; i < c->count; i++) {
        const takt_candidate k = c->at[i];
        c->at[kept] = k;
        kept += k.score >= least;
    }
    c->has_shares = c->has_shares && kept == c->count;
    c->count = kept;
}

float takt_candidates_best(const takt_candidates *c)
{
    float lane[BLOCK], best = -HUGE_VALF;
    size_t i = 0;
    if (c->scores == NULL) {
        for (; i < c->count; i++)
            best = c->at[i].score > best ? c->at[i].score : best;
        return best;
    }
    for (size_t k = 0; k < BLOCK; k++)
        lane[k] = best;
    for (; i + BLOCK <= c->tokens; i += BLOCK)
        for (size_t k = 0; k < BLOCK; k++)
            lane[k] = c->scores[i + k] > lane[k] ? c->scores[i + k] : lane[k];
    for (; i < c->tokens; i++)
        best = c->scores[i] > best ? c->scores[i] : best;
    for (size_t k = 0; k < BLOCK; k++)
        best = lane[k] > best ? lane[k] : best;
    return best;
}

/* Whether any score of a block is at least `least`. */
static bool reaches(const float *block, float least)
{
    int found = 0;
    for (size_t k = 0; k < BLOCK; k++)
        found |= block[k] >= least;
    return found;
}

int32_t takt_candidates_first(const takt_candidates *c)
{
    size_t i = 0, first = 0;
    if (c->scores == NULL) {
        for (i = 1; i < c->count; i++)
            first = better(&c->at[i], &c->at[first]) ? i : first;
        return c->at[first].id;
    }
    const float best = takt_candidates_best(c);
    while (i + BLOCK <= c->tokens && !reaches(c->scores + i, best))
        i += BLOCK;
    while (i + 1 < c->tokens && c->scores[i] != best)
        i++;
    return (int32_t)i;
}

/* ---- the list ---- */

/* Heap sort with the worst at the root: n log n, in place. */
static void sink(takt_candidate *at, size_t i, size_t count)
{
    const takt_candidate moved = at[i];
    size_t child;
    while ((child = 2 * i + 1) < count) {
        if (child + 1 < count && better(&at[child], &at[child + 1]))
            child++;
        if (!better(&moved, &at[child]))
            break;
        at[i] = at[child];
        i = child;
    }
    at[i] = moved;
}

/* Bits in the order of scores, best first; -0 is 0. And back. */
static uint32_t key_of(float score)
{
    uint32_t bits;
    score += 0.0F;
    memcpy(&bits, &score, sizeof bits);
    return (bits >> 31) != 0 ? bits : ~(bits | 1U << 31);
}

static float score_of(uint32_t key)
{
    const uint32_t bits = (key >> 31) != 0 ? key : ~key & ~(1U << 31);
    float score;
    memcpy(&score, &bits, sizeof score);
    return score;
}

typedef struct record {
    uint32_t key;
    int32_t id;
} record;

/* One digit of 8 bits; `first`: how many records have each. Equal digits keep their order. */
static void deal(const unsigned char *from, unsigned char *to, size_t count, unsigned shift,
                 uint32_t first[256])
{
    uint32_t sum = 0;
    for (size_t d = 0; d < 256; d++) {
        const uint32_t here = first[d];
        first[d] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) {
        record r;
        memcpy(&r, from + i * sizeof r, sizeof r);
        memcpy(to + first[r.key >> shift & 255]++ * sizeof r, &r, sizeof r);
    }
}

/* A whole vocabulary digit by digit, which takes a tenth of the time of comparisons. Records are
 * half as large as candidates: the two copies are the list's own memory. */
static void sort_by_digits(takt_candidates *c)
{
    uint32_t first[4][256] = {{0}};
    unsigned char *a = (unsigned char *)c->at, *b = a + c->count * sizeof(record);
    for (size_t i = 0; i < c->count; i++) {
        const record r = {key_of(c->at[i].score), c->at[i].id};
        for (unsigned d = 0; d < 4; d++)
            first[d][r.key >> 8 * d & 255]++;
        memcpy(a + i * sizeof r, &r, sizeof r);
    }
    for (unsigned d = 0; d < 4; d++)
        deal(d % 2 == 0 ? a : b, d % 2 == 0 ? b : a, c->count, 8 * d, first[d]);
    for (size_t i = c->count; i-- > 0;) {
        record r;
        memcpy(&r, a + i * sizeof r, sizeof r);
        c->at[i] = (takt_candidate){.id = r.id, .score = score_of(r.key)};
    }
}

/* Whether digits give the order: of equal scores the first in the list must have the lowest id. */
static bool has_digits(const takt_candidates *c)
{
    enum { FEW = 256 };
    size_t i = 1;
    while (i < c->count && c->at[i - 1].id < c->at[i].id)
        i++;
    return c->has_numbers && c->count > FEW && c->count < UINT32_MAX && i == c->count;
}

static void sort_by_heap(takt_candidates *c)
{
    for (size_t i = c->count / 2; i-- > 0;)
        sink(c->at, i, c->count);
    for (size_t end = c->count; end-- > 1;) {
        const takt_candidate worst = c->at[0];
        c->at[0] = c->at[end];
        c->at[end] = worst;
        sink(c->at, 0, end);
    }
}

void takt_candidates_sort(takt_candidates *c)
{
    takt_candidates_list(c);
    if (c->is_sorted)
        return;
    (has_digits(c) ? sort_by_digits : sort_by_heap)(c);
    c->is_sorted = true;
}

/* Among equal scores the first is kept: a later one never replaces it. */
static void take(takt_candidate *heap, size_t count, float score, size_t id)
{
    if (!(score > heap[0].score))
        return;
    heap[0] = (takt_candidate){.id = (int32_t)id, .score = score};
    sink(heap, 0, count);
}

/* The best of the scores, which the list must not reach. */
static void select_best(takt_candidates *c, size_t count)
{
    size_t i = count;
    for (size_t k = 0; k < count; k++)
        c->at[k] = (takt_candidate){.id = (int32_t)k, .score = c->scores[k]};
    for (size_t k = count / 2; k-- > 0;)
        sink(c->at, k, count);
    for (; i + BLOCK <= c->tokens; i += BLOCK) {
        if (!reaches(c->scores + i, c->at[0].score))
            continue;
        for (size_t k = 0; k < BLOCK; k++)
            take(c->at, count, c->scores[i + k], i + k);
    }
    for (; i < c->tokens; i++)
        take(c->at, count, c->scores[i], i);
    c->scores = NULL;
    c->least = -HUGE_VALF;
}

/* The first `count` are a heap with the worst at the root; a better one replaces it. */
static void keep_listed(takt_candidates *c, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sink(c->at, i, count);
    for (size_t i = count; count > 0 && i < c->count; i++) {
        if (c->at[i].score < c->at[0].score || !better(&c->at[i], &c->at[0]))
            continue; /* the first comparison is true for almost all */
        c->at[0] = c->at[i];
        sink(c->at, 0, count);
    }
}

void takt_candidates_keep(takt_candidates *c, size_t count)
{
    if (count >= c->count)
        count = c->count;
    if (c->scores != NULL && c->has_numbers && count > 0 && count <= c->tokens / 2) {
        select_best(c, count);
    } else {
        takt_candidates_list(c);
        if (!c->is_sorted)
            keep_listed(c, count);
    }
    c->has_shares = c->has_shares && count == c->count;
    c->count = count;
    takt_candidates_sort(c);
}

/* ---- probabilities ---- */

void takt_candidates_shares(takt_candidates *c)
{
    double sum = 0;
    if (c->has_shares || c->count == 0)
        return;
    takt_candidates_sort(c);
    for (size_t i = 0; i < c->count; i++) {
        const double behind = (double)c->at[i].score - (double)c->at[0].score;
        /* Infinite scores: candidates equal to the best share all the probability. */
        c->at[i].share = c->at[i].score == c->at[0].score ? 1 : exp(behind);
        sum += c->at[i].share;
    }
    for (size_t i = 0; i < c->count; i++)
        c->at[i].share /= sum;
    c->has_shares = true;
}

size_t takt_candidates_draw(takt_candidates *c)
{
    double sum = 0;
    takt_candidates_shares(c);
    for (size_t i = 0; i + 1 < c->count; i++) {
        sum += c->at[i].share;
        if (c->uniform < sum)
            return i;
    }
    return c->count - 1;
}
