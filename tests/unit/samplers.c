/* samplers.c - each sampler against its formula in double precision, and the drawn tokens. */
#include "text/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../test.h"
#include "base/philox.h"

static takt_ctx *ctx;

enum { COUNT = 200 };
static float scores[COUNT];
static takt_candidate room[COUNT];
static uint16_t times[COUNT];
static double surprise;

static takt_candidates fresh(uint32_t seed)
{
    const takt_philox_at at = {.seed = seed};
    for (size_t i = 0; i < COUNT; i++) {
        scores[i] = (float)(3 * takt_philox_normal(&at, i));
        room[i] = (takt_candidate){.id = (int32_t)i, .score = scores[i]};
    }
    surprise = 10;
    return (takt_candidates){.at = room, .count = COUNT, .times = times, .surprise = &surprise};
}

static void apply(const char *name, takt_candidates *c, const takt_sampling *s)
{
    const takt_sampler *sampler = takt_sampler_named(name, strlen(name));
    if (EXPECT(sampler != NULL, "%s", name))
        sampler->apply(c, s);
}

/* By the formula: probabilities by id, and ids from the most probable on. */
static double share[COUNT];
static int order[COUNT];

static int by_share(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return share[x] != share[y] ? (share[x] < share[y]) - (share[x] > share[y]) : (x > y) - (x < y);
}

static void formula(double temperature)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        sum += share[i] = exp((double)scores[i] / temperature);
    for (int i = 0; i < COUNT; i++) {
        share[i] /= sum;
        order[i] = i;
    }
    qsort(order, COUNT, sizeof *order, by_share);
}

static bool has(const takt_candidates *c, int32_t id)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->at[i].id == id)
            return true;
    return false;
}

static void cuts(void)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        takt_candidates c = fresh(seed);
        formula(1);
        apply("top_k", &c, &(takt_sampling){.top_k = 7});
        EXPECT_EQ(c.count, 7);
        for (size_t i = 0; i < 7; i++)
            EXPECT_EQ(c.at[i].id, order[i]);
        c = fresh(seed);
        takt_candidates_keep(&c, 1);
        EXPECT_EQ(c.count, 1);
        EXPECT_EQ(c.at[0].id, order[0]);
        c = fresh(seed);
        takt_candidates_keep(&c, COUNT);
        EXPECT_EQ(c.count, COUNT);
        EXPECT_EQ(c.at[COUNT - 1].id, order[COUNT - 1]);
        const double p = 0.1 + 0.04 * seed;
        size_t want = 0;
        for (double sum = 0; want < COUNT && sum < p; want++)
            sum += share[order[want]];
        c = fresh(seed);
        apply("top_p", &c, &(takt_sampling){.top_p = p});
        EXPECT(c.count == want, "top_p %g: %zu, not %zu", p, c.count, want);
        c = fresh(seed);
        apply("min_p", &c, &(takt_sampling){.min_p = p});
        for (int i = 0; i < COUNT; i++)
            EXPECT(has(&c, i) == (share[i] >= p * share[order[0]]), "min_p %g: %d", p, i);
    }
}

static double entropy;

static int by_typical(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    const double dx = fabs(-log(share[x]) - entropy), dy = fabs(-log(share[y]) - entropy);
    return (dx > dy) - (dx < dy);
}

static void typical(void)
{
    for (uint32_t seed = 1; seed <= 20; seed++) {
        takt_candidates c = fresh(seed);
        const double p = 0.1 + 0.04 * seed;
        size_t want = 0;
        formula(1);
        entropy = 0;
        for (int i = 0; i < COUNT; i++)
            entropy -= share[i] * log(share[i]);
        qsort(order, COUNT, sizeof *order, by_typical);
        for (double sum = 0; want < COUNT && sum < p; want++)
            sum += share[order[want]];
        apply("typ_p", &c, &(takt_sampling){.typical_p = p});
        EXPECT(c.count == want, "typical %g: %zu, not %zu", p, c.count, want);
        for (size_t i = 0; i < want; i++)
            EXPECT(has(&c, order[i]));
    }
}

static void penalties(void)
{
    static const int32_t history[] = {5, 9, 5, 7, 5, 9};
    static const takt_sampling s = {.repeat_penalty = 1.3,
                                    .frequency_penalty = 0.25,
                                    .presence_penalty = 0.5,
                                    .repeat_last_n = 5};
    static const int counts[COUNT] = {[5] = 2, [7] = 1, [9] = 2};
    takt_candidates c = fresh(3);
    c.history = history;
    c.history_count = 6;
    apply("penalties", &c, &s);
    for (size_t i = 0; i < COUNT; i++) {
        double want = (double)scores[i];
        if (counts[i] > 0)
            want = (want > 0 ? want / 1.3 : want * 1.3) - 0.25 * counts[i] - 0.5;
        EXPECT(fabs((double)c.at[i].score - want) <= 1e-6 * fabs(want) + 1e-6, "%zu", i);
        EXPECT_EQ(times[i], 0);
    }
}

/* How often each token is drawn, against its probability. */
static void draws(void)
{
    enum { DRAWS = 20000 };
    static int drawn[COUNT];
    const takt_philox_at at = {.seed = 99};
    for (int i = 0; i < DRAWS; i++) {
        takt_candidates c = fresh(4);
        c.uniform = takt_philox_uniform(takt_philox_word(&at, (uint64_t)i));
        apply("temperature", &c, &(takt_sampling){.temperature = 0.7});
        drawn[c.at[takt_candidates_draw(&c)].id]++;
    }
    formula(0.7);
    for (int i = 0; i < COUNT; i++) {
        const double want = DRAWS * share[i];
        EXPECT(fabs(drawn[i] - want) <= 6 * sqrt(want) + 6, "%d: %d, not %g", i, drawn[i], want);
    }
}

static void mirostat(void)
{
    takt_sampling s = {.mirostat = 2, .temperature = 1};
    takt_candidates c = fresh(5);
    int32_t id;
    takt_sampling settled;
    EXPECT_OK(ctx, takt_sampling_settle(ctx, &s, &settled));
    surprise = 3;
    c.uniform = 0.5;
    formula(1);
    EXPECT_OK(ctx, takt_sample_chain(ctx, &c, &settled, &id));
    EXPECT(-log2(share[id]) <= 3 || id == order[0]);
    double kept = 0;
    for (int i = 0; i < COUNT; i++)
        kept += -log2(share[order[i]]) <= 3 || i == 0 ? share[order[i]] : 0;
    const double want = 3 - 0.1 * (-log2(share[id] / kept) - 5);
    EXPECT(fabs(surprise - want) < 1e-9, "%g, not %g", surprise, want);
}

/* Mirostat 1 by its formula: the number of candidates follows from Zipf's law, fitted to the
 * best. */
static void mirostat_1(void)
{
    const takt_sampling s = {.mirostat = 1, .temperature = 1};
    takt_sampling settled;
    EXPECT_OK(ctx, takt_sampling_settle(ctx, &s, &settled));
    for (int trial = 0; trial < 20; trial++) {
        takt_candidates c = fresh(7 + (uint32_t)trial);
        double products = 0, squares = 0, kept = 0;
        int32_t id = -1;
        formula(1);
        for (int i = 0; i + 1 < COUNT && i < 99; i++) {
            const double t = log((i + 2.0) / (i + 1.0));
            products += t * log(share[order[i]] / share[order[i + 1]]);
            squares += t * t;
        }
        const double zipf = products / squares, beyond = zipf - 1;
        const double start = 1 + 0.3 * trial;
        double k = pow(beyond * pow(2, start) / (1 - pow(COUNT, -beyond)), 1 / zipf);
        k = k < 1 ? 1 : k > COUNT ? COUNT : floor(k);
        surprise = start;
        c.uniform = 0.9;
        EXPECT_OK(ctx, takt_sample_chain(ctx, &c, &settled, &id));
        bool is_kept = false;
        for (int i = 0; i < (int)k; i++) {
            kept += share[order[i]];
            is_kept = is_kept || order[i] == id;
        }
        const double want = start - 0.1 * (-log2(share[id] / kept) - 5);
        EXPECT(is_kept && fabs(surprise - want) < 1e-6, "%d: %g, not %g", trial, surprise, want);
    }
}

/* XTC acts as often as it should, and at the same positions each time. */
static void chances(void)
{
    enum { TRIALS = 4000 };
    const takt_sampling s = {.temperature = 1, .xtc_probability = 0.3, .seed = 11};
    takt_sampling settled;
    int acted = 0;
    EXPECT_OK(ctx, takt_sampling_settle(ctx, &s, &settled));
    for (uint64_t i = 0; i < TRIALS; i++) {
        takt_candidates c = {.at = room};
        takt_candidates_fill(&c, (const float[]){2, 1.9F, 0}, 3);
        c.chance = takt_sampling_uniform(&settled, i, 1);
        EXPECT_EQ(c.chance, takt_sampling_uniform(&settled, i, 1));
        EXPECT_IS(c.chance, !=, takt_sampling_uniform(&settled, i, 0));
        apply("xtc", &c, &settled);
        EXPECT(c.count == 3 || (c.count == 2 && c.at[0].id == 1));
        acted += c.count < 3;
    }
    EXPECT(acted > 0.26 * TRIALS && acted < 0.34 * TRIALS, "%d of %d", acted, TRIALS);
}

/* DRY also lowers repetitions at temperature 0; a repetition of 4096 equal tokens takes no more
 * steps than its length. */
static void repetitions(void)
{
    static int32_t ids[4096];
    takt_token_ids history = {ids, 4, 4};
    takt_sampling s = {.dry_multiplier = 3, .dry_allowed_length = 1};
    int32_t id = -1;
    memcpy(ids, (const int32_t[]){0, 1, 2, 0}, 4 * sizeof *ids);
    EXPECT_OK(ctx, takt_token_draw(ctx, (const float[]){0, 3, 2}, 3, &s, &history, &id));
    EXPECT(id == 2, "%d", id);
    s.dry_penalty_last_n = 2;
    EXPECT_OK(ctx, takt_token_draw(ctx, (const float[]){0, 3, 2}, 3, &s, &history, &id));
    EXPECT(id == 1, "%d", id);
    memset(ids, 0, sizeof ids);
    history.count = 4096;
    s = (takt_sampling){.dry_multiplier = 1, .dry_base = 3, .samplers = "d"};
    EXPECT_OK(ctx, takt_token_draw(ctx, (const float[]){9, 1, -3}, 3, &s, &history, &id));
    EXPECT(id == 1, "%d", id);
}

static void expect_refused(takt_sampling s)
{
    takt_sampling settled;
    EXPECT_STATUS(ctx, takt_sampling_settle(ctx, &s, &settled), TAKT_ERR_ARGUMENT);
}

static void choices(void)
{
    static const takt_token_bias never[] = {{2, -INFINITY}, {0, 0.5F}};
    const float few[4] = {1, 2, 9, NAN}, none[2] = {NAN, NAN};
    takt_sampling s = {0};
    int32_t id = -1, again;
    EXPECT_OK(ctx, takt_token_draw(ctx, few, 4, &s, NULL, &id));
    EXPECT_EQ(id, 2);
    s.bias = never;
    s.bias_count = 2;
    EXPECT_OK(ctx, takt_token_draw(ctx, few, 4, &s, NULL, &id));
    EXPECT_EQ(id, 1);
    /* A temperature so small that scores divided by it are infinite; a score that is. */
    s = (takt_sampling){.temperature = 1e-44};
    EXPECT_OK(ctx, takt_token_draw(ctx, (float[]){2, 3, -2, -3}, 4, &s, NULL, &id));
    EXPECT(id == 1, "%d", id);
    s = (takt_sampling){.temperature = 1};
    EXPECT_OK(ctx, takt_token_draw(ctx, (float[]){2, INFINITY, -2, -3}, 4, &s, NULL, &id));
    EXPECT(id == 1, "%d", id);
    EXPECT_STATUS(ctx, takt_token_draw(ctx, none, 2, NULL, NULL, &id), TAKT_ERR_FORMAT);
    s = (takt_sampling){.temperature = 1.5, .seed = 3};
    (void)fresh(6);
    EXPECT_OK(ctx, takt_token_draw(ctx, scores, COUNT, &s, NULL, &id));
    EXPECT_OK(ctx, takt_token_draw(ctx, scores, COUNT, &s, NULL, &again));
    EXPECT_EQ(id, again);
    expect_refused((takt_sampling){.temperature = NAN});
    expect_refused((takt_sampling){.min_p = 1.5});
    expect_refused((takt_sampling){.repeat_penalty = -1});
    expect_refused((takt_sampling){.mirostat = 3});
    expect_refused((takt_sampling){.bias_count = 1});
    EXPECT_STATUS(ctx, takt_token_draw(ctx, few, 4, NULL, &(takt_token_ids){.count = 1}, &id),
                  TAKT_ERR_ARGUMENT);
    expect_refused((takt_sampling){.samplers = "top_k;nothing"});
    expect_refused((takt_sampling){.samplers = "e;d;q"});
    expect_refused((takt_sampling){.dynatemp_range = -1});
    expect_refused((takt_sampling){.xtc_probability = 1.5});
    expect_refused((takt_sampling){.dry_multiplier = -1});
    expect_refused((takt_sampling){.dry_breaker_count = 1});
    s = (takt_sampling){.temperature = 1.5, .seed = 3, .top_k = 5, .samplers = "top_k;temperature"};
    EXPECT_OK(ctx, takt_token_draw(ctx, scores, COUNT, &s, NULL, &id));
    s.samplers = "k; t";
    EXPECT_OK(ctx, takt_token_draw(ctx, scores, COUNT, &s, NULL, &again));
    EXPECT_EQ(id, again);
}

/* Scores that become a list when needed, and a list from the start, sorted by comparisons: the same
 * candidates with the same bits, with many equal and infinite scores. */
static void same_either_way(const char *chain, size_t count, uint32_t seed)
{
    enum { MOST = 1000 };
    static takt_candidate of_scores[MOST], list[MOST];
    static float some[MOST];
    static uint16_t counts[MOST];
    static const int32_t history[] = {3, 0, 2, 3, 0, 2, 3};
    static const takt_token_bias biases[] = {{1, 2.5F}, {4, -INFINITY}};
    const takt_sampling given = {.samplers = chain,
                                 .bias = biases,
                                 .bias_count = 2,
                                 .temperature = 0.7,
                                 .top_k = 20 + (int64_t)seed * 40,
                                 .top_p = 0.9,
                                 .min_p = 0.01,
                                 .typical_p = 0.9,
                                 .repeat_penalty = 1.2,
                                 .top_n_sigma = 1.5,
                                 .dry_multiplier = 1,
                                 .xtc_probability = 0.5};
    const takt_philox_at at = {.seed = seed};
    uint32_t runs[7];
    takt_candidates a = {.at = of_scores,
                         .times = counts,
                         .history = history,
                         .history_count = 7,
                         .runs = runs,
                         .surprise = &surprise};
    takt_candidates b = a;
    takt_sampling s;
    int32_t first = -1, second = -2;
    EXPECT_OK(ctx, takt_sampling_settle(ctx, &given, &s));
    for (size_t i = 0; i < count; i++) {
        some[i] = (float)(3 * takt_philox_normal(&at, i));
        some[i] = i % 3 == 0 ? floorf(some[i]) : i % 50 == 7 ? -INFINITY : some[i];
        list[i] = (takt_candidate){.id = (int32_t)i, .score = some[i]};
    }
    takt_candidates_fill(&a, some, count);
    b.at = list;
    b.count = count;
    EXPECT_OK(ctx, takt_sample_chain(ctx, &a, &s, &first));
    EXPECT_OK(ctx, takt_sample_chain(ctx, &b, &s, &second));
    bool same = a.count == b.count && first == second;
    for (size_t i = 0; same && i < a.count; i++)
        same = a.at[i].id == b.at[i].id && a.at[i].score == b.at[i].score &&
               a.at[i].share == b.at[i].share;
    EXPECT(same, "%s, %zu tokens, seed %u: %zu candidates, not %zu", chain, count, seed, a.count,
           b.count);
    EXPECT(takt_candidates_first(&a) == takt_candidates_first(&b));
}

static void either_way(void)
{
    static const char *const orders[] = {"e;d;s;k;y;p;m;x;t", "s;e;k;t", "m;e;d;t", "y;t", "p;s;t",
                                         "m;s;k;t",           "k;s;m;t", "x;t",     "t;k", "e;d"};
    static const size_t counts[] = {5, 31, 32, 33, 65, 300, 1000};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            for (uint32_t seed = 0; seed < 5; seed++)
                same_either_way(orders[i], counts[k], seed);
}

static void begin(void)
{
    if (takt_ctx_create(NULL, &ctx) != TAKT_OK)
        exit(EXIT_FAILURE);
}

static void end(void)
{
    takt_ctx_destroy(ctx);
}

TEST_MAIN(begin, cuts, typical, penalties, draws, mirostat, mirostat_1, chances, repetitions,
          choices, either_way, end)
