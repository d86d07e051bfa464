/* cancel.c - cancelling a generator: within a prompt, between two tokens, and while idle; it keeps
 * what it has read, and can continue. */
#include <string.h>

#include <takt/takt.h>

#include "../test.h"

static const char tiny[] = "tests/corpus/gguf/tiny.gguf";
static takt_generator *generator;
static int cancels_at, calls; /* the call of the clock or of the sink that cancels; 0: none */

static uint64_t now(void *user)
{
    (void)user;
    if (++calls == cancels_at)
        takt_generator_cancel(generator);
    return (uint64_t)calls;
}

static int sink(void *user, const char *text, size_t length)
{
    size_t *total = user;
    (void)text;
    *total += length;
    if (cancels_at < 0)
        takt_generator_cancel(generator);
    return 0;
}

static void stops(void)
{
    takt_ctx *ctx;
    const takt_config config = {.now_ns = now};
    const takt_generator_options options = {.context = 64, .batch = 4, .threads = 1};
    const takt_generate_options how = {
        .max_tokens = 8, .ignore_eos = true, .sampling = {.seed = 3}};
    takt_generated got;
    size_t total = 0;
    if (!EXPECT(takt_ctx_create(&config, &ctx) == TAKT_OK))
        return;
    if (EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &generator))) {
        calls = 0;
        cancels_at = 3; /* before the second part of the prompt */
        EXPECT_STATUS(ctx, takt_generate(generator, "a b a b a b a b", &how, sink, &total, &got),
                      TAKT_ERR_CANCELLED);
        EXPECT_EQ(total, 0);
        EXPECT_EQ(got.tokens, 0);
        EXPECT_EQ(takt_generator_position(generator), 4);
        takt_generator_reset(generator);
        cancels_at = -1; /* with the first text */
        EXPECT_STATUS(ctx, takt_generate(generator, "a b", &how, sink, &total, &got),
                      TAKT_ERR_CANCELLED);
        EXPECT_IS(total, >, 0);
        EXPECT_IS(got.tokens, >, 0);
        EXPECT_IS(got.tokens, <, 8);
        takt_generator_reset(generator);
        cancels_at = 0;
        takt_generator_cancel(generator); /* nothing is in progress */
        EXPECT_OK(ctx, takt_generate(generator, "a b", &how, sink, &total, &got));
        EXPECT_EQ(got.tokens, 8);
        const int32_t id = 4;
        takt_generator_cancel(generator); /* nor now */
        EXPECT_OK(ctx, takt_generator_read(generator, &id, 1));
    }
    takt_generator_cancel(NULL);
    takt_generator_destroy(generator);
    takt_ctx_destroy(ctx);
}

static int sink_of(void *user, size_t index, const char *text, size_t length)
{
    (void)index;
    return sink(user, text, length);
}

/* Two texts that share runs, and two that are generated one after the other. */
static void stops_many(void)
{
    static const char *const at[] = {"a b", "b a", "a a"};
    const takt_prompts prompts = {at, 3};
    takt_ctx *ctx;
    if (!EXPECT(takt_ctx_create(&(takt_config){.now_ns = now}, &ctx) == TAKT_OK))
        return;
    for (int parallel = 1; parallel <= 2; parallel++) {
        const takt_generator_options options = {
            .context = 64, .batch = 4, .threads = 1, .parallel = parallel};
        const takt_generate_options how = {.max_tokens = 8, .ignore_eos = true};
        takt_generated got[3];
        size_t total = 0;
        cancels_at = 0;
        if (EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &generator))) {
            cancels_at = -1; /* with the first text */
            EXPECT_STATUS(ctx, takt_generate_many(generator, &prompts, &how, sink_of, &total, NULL),
                          TAKT_ERR_CANCELLED);
            EXPECT_IS(total, >, 0);
            EXPECT_EQ(takt_generator_position(generator), 0);
            cancels_at = 0;
            EXPECT_OK(ctx, takt_generate_many(generator, &prompts, &how, sink_of, &total, got));
            EXPECT_EQ(got[0].tokens, 8);
            EXPECT_EQ(got[1].tokens, 8);
            EXPECT_EQ(got[2].tokens, 8);
        }
        takt_generator_destroy(generator);
    }
    takt_ctx_destroy(ctx);
}

TEST_MAIN(stops, stops_many)
