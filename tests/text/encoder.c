/* encoder.c - a model with an encoder (T5): the prompt is read as a whole, the answer token by
 * token or at once, by one or several texts together; unsupported functions are refused with a
 * message. */
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/text/together.h"
#include "util/inject.h"
#include "util/text.h"

enum { WORDS = 11, STEPS = 12 };

static char t5[] = "tests/corpus/gguf/tiny_t5.gguf";

static takt_generator *open_with(takt_ctx *ctx, takt_generator_options options)
{
    takt_generator *g = NULL;
    EXPECT_OK(ctx, takt_generator_open(ctx, t5, &options, &g));
    return g;
}

/* Every prompt is a text of its own, and one text for any threads, kernels and batch. */
static void answers(void)
{
    static const struct {
        const char *prompt, *answer;
    } cases[] = {{"a b c", " c c c c c c c c c c c c"},
                 {"c c a a a b", " b c c c c c c c c c c c"},
                 {"a b c", " c c c c c c c c c c c c"}};
    static const takt_generator_options ways[] = {{.threads = 1, .context = 64},
                                                  {.threads = 3, .context = 40, .batch = 1},
                                                  {.threads = 1, .context = 64, .isa = "scalar"},
                                                  {.threads = 2, .activations = "int8"}};
    const takt_generate_options how = {.max_tokens = STEPS};
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        takt_generator *g = open_with(ctx, ways[w]);
        EXPECT(takt_generator_has_encoder(g) && !takt_generator_has_encoder(NULL));
        for (size_t i = 0; g != NULL && i < sizeof cases / sizeof *cases; i++) {
            text out = {.at = ""};
            takt_generated result;
            EXPECT_OK(ctx, takt_generate(g, cases[i].prompt, &how, add, &out, &result));
            EXPECT(strcmp(out.at, cases[i].answer) == 0, "way %zu, %s: %s", w, cases[i].prompt,
                   out.at);
            EXPECT_EQ(result.tokens, STEPS);
            EXPECT_IS(result.prompt_tokens, >, 3);
        }
        takt_generator_destroy(g);
    }
    takt_ctx_destroy(ctx);
}

/* The same scores whether an answer is read token by token or at once, with any cache. */
static void parts(void)
{
    static const int32_t prompt[] = {4, 5, 9, 8, 1}, answer[] = {9, 5, 4, 3, 9, 6, 7};
    static const char *const types[] = {"f32", "f16", "bf16"};
    float want[WORDS];
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (size_t k = 0; k < 3; k++) {
        takt_generator *g = open_with(
            ctx, (takt_generator_options){
                     .threads = 1, .batch = 3, .cache_type_k = types[k], .cache_type_v = types[k]});
        EXPECT_OK(ctx, takt_generator_read(g, prompt, 5));
        EXPECT_EQ(takt_generator_position(g), 1);
        EXPECT_OK(ctx, takt_generator_read(g, answer, 7));
        EXPECT_EQ(takt_generator_position(g), 8);
        memcpy(want, takt_generator_scores(g, NULL), sizeof want);
        takt_generator_reset(g);
        EXPECT_OK(ctx, takt_generator_read(g, prompt, 0)); /* nothing is not a prompt */
        EXPECT(takt_generator_position(g) == 0 && takt_generator_scores(g, NULL) == NULL);
        EXPECT_OK(ctx, takt_generator_read(g, prompt, 5));
        for (size_t i = 0; i < 7; i++)
            EXPECT_OK(ctx, takt_generator_read(g, &answer[i], 1));
        EXPECT(memcmp(want, takt_generator_scores(g, NULL), sizeof want) == 0, "%s", types[k]);
        takt_generator_destroy(g);
    }
    takt_ctx_destroy(ctx);
}

static void refusals(void)
{
    static const int32_t ids[] = {4, 5, 99};
    const takt_generate_options guess = {.max_tokens = 3, .lookup = true};
    double logs[2];
    text out = {.at = ""};
    takt_ctx *ctx;
    takt_embedder *e = NULL;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    takt_generator *g = open_with(ctx, (takt_generator_options){.threads = 1, .context = 16});
    EXPECT_STATUS(NULL, takt_generator_rate(g, ids, 2, logs), TAKT_ERR_UNSUPPORTED);
    EXPECT_STATUS(NULL, takt_generator_save(g, "never"), TAKT_ERR_UNSUPPORTED);
    EXPECT_STATUS(NULL, takt_generator_load(g, "never"), TAKT_ERR_UNSUPPORTED);
    EXPECT_STATUS(NULL, takt_generate(g, "a b", &guess, add, &out, NULL), TAKT_ERR_UNSUPPORTED);
    EXPECT_STATUS(NULL, takt_generator_read(g, ids, 3), TAKT_ERR_RANGE);
    const char longest[] = "a a a a a a a a a a a a a a a a a a a a";
    EXPECT_STATUS(NULL, takt_generate(g, longest, NULL, add, &out, NULL), TAKT_ERR_ARGUMENT);
    EXPECT_EQ(takt_generator_position(g), 0);
    EXPECT_EQ(out.length, 0);
    EXPECT_OK(ctx, takt_generator_read(g, ids, 2));
    EXPECT_STATUS(NULL, takt_generator_rewind(g, 0), TAKT_ERR_UNSUPPORTED);
    takt_generator_destroy(g);
    /* The encoder alone. */
    EXPECT_OK(ctx, takt_embedder_open(ctx, t5, NULL, &e));
    float one[32], two[32];
    EXPECT_EQ(takt_embedder_size(e), 32);
    EXPECT_OK(ctx, takt_embed(e, "a b", 3, one));
    EXPECT_OK(ctx, takt_embed(e, "a c", 3, two));
    EXPECT_IS(memcmp(one, two, sizeof one), !=, 0);
    takt_embedder_destroy(e);
    takt_ctx_destroy(ctx);
}

/* ---- several texts ---- */

enum { TEXTS = 3 };

static int32_t best(const float *scores)
{
    int32_t found = 0;
    for (int32_t i = 1; i < WORDS; i++)
        found = scores[i] > scores[found] ? i : found;
    return found;
}

static const int32_t prompts[TEXTS][4] = {{4, 5, 9, 1}, {9, 9, 4, 1}, {5, 1}};
static const size_t lengths[TEXTS] = {4, 4, 2};

static void say_alone(takt_ctx *ctx, size_t row, float scores[STEPS][WORDS])
{
    takt_generator *g = open_with(ctx, (takt_generator_options){.threads = 1, .context = 32});
    const int32_t *next = prompts[row];
    int32_t id;
    for (size_t i = 0; g != NULL && i < STEPS; i++, next = &id) {
        EXPECT_OK(ctx, takt_generator_read(g, next, i == 0 ? lengths[row] : 1));
        memcpy(scores[i], takt_generator_scores(g, NULL), sizeof scores[i]);
        id = best(scores[i]);
    }
    takt_generator_destroy(g);
}

/* Texts of one model, each with a prompt of its own, have the scores that they have alone. */
static void together(void)
{
    static float want[TEXTS][STEPS][WORDS];
    const takt_generator_options small = {.threads = 1, .context = 32, .batch = 4};
    takt_generator *texts[TEXTS] = {NULL};
    takt_together all = {.texts = NULL};
    int32_t ids[TEXTS];
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    EXPECT_OK(ctx, takt_generator_open_first(ctx, t5, &small, TEXTS, 0, &texts[0]));
    for (size_t i = 1; texts[0] != NULL && i < TEXTS; i++)
        EXPECT_OK(ctx, takt_generator_clone(texts[0], i, &texts[i]));
    const bool is_wide = texts[0] != NULL && texts[0]->engine.rows == TEXTS;
    if (EXPECT(is_wide, "texts do not go on together"))
        EXPECT_OK(ctx, takt_together_open(&all, texts, TEXTS));
    for (size_t t = 0; is_wide && t < TEXTS; t++) {
        say_alone(ctx, t, want[t]);
        EXPECT_OK(ctx, takt_generator_read(texts[t], prompts[t], lengths[t]));
    }
    for (size_t i = 0; is_wide && i < STEPS; i++) {
        for (size_t t = 0; t < TEXTS; t++) {
            const float *got = takt_generator_scores(texts[t], NULL);
            EXPECT(memcmp(got, want[t][i], sizeof want[t][i]) == 0, "text %zu, token %zu", t, i);
            ids[t] = best(want[t][i]);
        }
        EXPECT_OK(ctx, takt_together_read(&all, ids));
    }
    takt_together_close(&all);
    for (size_t i = TEXTS; i-- > 0;)
        takt_generator_destroy(texts[i]);
    takt_ctx_destroy(ctx);
}

/* ---- memory ---- */

static takt_status generate(takt_inject *inject, void *user)
{
    const takt_generate_options how = {.max_tokens = 2};
    const takt_generator_options small = {.threads = 1, .context = 16, .batch = 2};
    takt_config config = {0};
    takt_ctx *ctx;
    takt_generator *g = NULL;
    text out = {.at = ""};
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_generator_open(ctx, user, &small, &g);
    if (status == TAKT_OK)
        status = takt_generate(g, "a b", &how, add, &out, NULL);
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
    return status;
}

static void sweep(void)
{
    const takt_sweep_report r = takt_sweep_some(generate, t5, TAKT_INJECT_ALL, 60);
    EXPECT(r.is_good, "%s", r.message);
}

/* Reading a token of an answer allocates no memory. */
static void no_allocation(void)
{
    static const int32_t prompt[] = {4, 5, 1}, id = 9;
    takt_inject inject;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_inject_init(&inject);
    takt_inject_config(&inject, &config);
    if (!EXPECT_OK(NULL, takt_ctx_create(&config, &ctx)))
        return;
    takt_generator *g = open_with(ctx, (takt_generator_options){.threads = 1, .context = 32});
    EXPECT_OK(ctx, takt_generator_read(g, prompt, 3));
    const uint64_t before = inject.gets;
    for (int i = 0; i < 5; i++)
        EXPECT_OK(ctx, takt_generator_read(g, &id, 1));
    EXPECT_EQ(inject.gets, before);
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
    EXPECT_EQ(takt_inject_deinit(&inject), 0);
    EXPECT_EQ(inject.faults, 0);
}

TEST_MAIN(answers, parts, refusals, together, sweep, no_allocation)
