/* unread.c - a text that ended at its maximum length can be continued: generated in parts it is the
 * same as at once, for any sampler, with guesses, and with any prompts in between. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/text.h"

static const char tiny[] = "tests/corpus/gguf/tiny.gguf";

/* `parts` texts of 24 / parts tokens, the first behind a prompt. */
static text written(takt_ctx *ctx, takt_generate_options how, size_t parts)
{
    const takt_generator_options options = {.context = 64, .batch = 4, .threads = 1};
    takt_generator *g = NULL;
    text out = {.length = 0};
    if (!EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &g)))
        return out;
    how.max_tokens = 24 / parts;
    for (size_t i = 0; i < parts; i++) {
        takt_generated result;
        EXPECT_OK(ctx, takt_generate(g, i == 0 ? "a b a b" : "", &how, add, &out, &result));
        EXPECT(result.tokens == 24 / parts && (i == 0 || result.prompt_tokens == 0));
    }
    takt_generator_destroy(g);
    return out;
}

static void goes_on(void)
{
    takt_ctx *ctx;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (int way = 0; way < 4; way++) {
        takt_generate_options how = {.ignore_eos = true, .lookup = way >= 2};
        how.sampling.temperature = way % 2 == 0 ? 0 : 0.9;
        how.sampling.seed = 11;
        const text whole = written(ctx, how, 1);
        for (size_t parts = 2; parts <= 24; parts *= parts == 3 ? 8 : parts == 2 ? 2 : 6) {
            const text some = written(ctx, how, parts);
            EXPECT(some.length == whole.length && memcmp(some.at, whole.at, whole.length) == 0,
                   "way %d, %zu parts: %.*s, not %.*s", way, parts, (int)some.length, some.at,
                   (int)whole.length, whole.at);
        }
    }
    takt_ctx_destroy(ctx);
}

/* Tokens read directly, and a reset, replace it. */
static void forgotten(void)
{
    const takt_generate_options how = {.max_tokens = 1, .ignore_eos = true};
    const takt_generator_options options = {.context = 64, .threads = 1};
    const int32_t id = 4;
    takt_generator *g = NULL;
    takt_ctx *ctx;
    text out = {.length = 0};
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)) ||
        !EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &g)))
        return;
    EXPECT_OK(ctx, takt_generate(g, "a", &how, add, &out, NULL));
    const int64_t before = takt_generator_position(g);
    EXPECT_OK(ctx, takt_generator_read(g, &id, 1));
    EXPECT_OK(ctx, takt_generate(g, "", &how, add, &out, NULL));
    EXPECT_EQ(takt_generator_position(g), before + 1);
    EXPECT_OK(ctx, takt_generate(g, "", &how, add, &out, NULL));
    EXPECT_EQ(takt_generator_position(g), before + 2);
    takt_generator_reset(g);
    EXPECT_OK(ctx, takt_generate(g, "a", &how, add, &out, NULL));
    EXPECT_EQ(takt_generator_position(g), before);
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
}

/* A prompt that is refused changes nothing. */
static void refused(void)
{
    const takt_generate_options how = {.max_tokens = 8, .ignore_eos = true};
    const takt_generator_options options = {.context = 64, .batch = 4, .threads = 1};
    char longer[200];
    takt_ctx *ctx;
    text out[2] = {{.length = 0}, {.length = 0}};
    for (size_t i = 0; i + 1 < sizeof longer; i++)
        longer[i] = i % 2 == 0 ? 'a' : ' ';
    longer[sizeof longer - 1] = '\0';
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    for (int way = 0; way < 2; way++) {
        takt_generator *g = NULL;
        if (!EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &g)))
            break;
        EXPECT_OK(ctx, takt_generate(g, "a b a b", &how, add, &out[way], NULL));
        if (way == 1)
            EXPECT_IS(takt_generate(g, longer, &how, add, &out[way], NULL), !=, TAKT_OK);
        EXPECT_OK(ctx, takt_generate(g, "", &how, add, &out[way], NULL));
        takt_generator_destroy(g);
    }
    EXPECT(out[0].length == out[1].length && memcmp(out[0].at, out[1].at, out[0].length) == 0,
           "%.*s, not %.*s", (int)out[1].length, out[1].at, (int)out[0].length, out[0].at);
    takt_ctx_destroy(ctx);
}

/* A file keeps the token, and another generator continues the text. */
static void saved(void)
{
    const takt_generator_options options = {.context = 64, .batch = 4, .threads = 1};
    takt_generate_options how = {.max_tokens = 12, .ignore_eos = true};
    char path[256];
    takt_ctx *ctx;
    how.sampling.temperature = 0.9;
    how.sampling.seed = 11;
    snprintf(path, sizeof path, "%s/unread.kv",
             getenv("TAKT_TEST_TMP") != NULL ? getenv("TAKT_TEST_TMP") : "/tmp");
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    const text whole = written(ctx, how, 1);
    takt_generator *g = NULL, *h = NULL;
    text out = {.length = 0};
    EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &g));
    EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &h));
    EXPECT_OK(ctx, takt_generate(g, "a b a b", &how, add, &out, NULL));
    EXPECT_OK(ctx, takt_generator_save(g, path));
    EXPECT_OK(ctx, takt_generator_load(h, path));
    EXPECT_EQ(takt_generator_position(h), takt_generator_position(g));
    EXPECT_OK(ctx, takt_generate(h, "", &how, add, &out, NULL));
    EXPECT(out.length == whole.length && memcmp(out.at, whole.at, whole.length) == 0,
           "%.*s, not %.*s", (int)out.length, out.at, (int)whole.length, whole.at);
    /* Without such a token an empty prompt has nothing to continue. */
    EXPECT_OK(ctx, takt_generator_rewind(h, 3));
    EXPECT_OK(ctx, takt_generator_save(h, path));
    EXPECT_OK(ctx, takt_generator_load(g, path));
    EXPECT_STATUS(NULL, takt_generate(g, "", &how, add, &out, NULL), TAKT_ERR_ARGUMENT);
    remove(path);
    takt_generator_destroy(g);
    takt_generator_destroy(h);
    takt_ctx_destroy(ctx);
}

TEST_MAIN(goes_on, forgotten, refused, saved)
