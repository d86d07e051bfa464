/* pool_many.c - takt_generate_many with a pool of caches: each text is the same as alone, whatever
 * waits; a text that can never fit is refused; nothing leaks when memory runs out. */
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "api/text/engine.h"
#include "util/inject.h"

enum { PROMPTS = 6, ROOM = 512 };
static const char tiny[] = "tests/corpus/gguf/tiny.gguf";
static const char *const prompts[PROMPTS] = {"a b", "a b c", "b", "a b c a b c a b", "c", "a b c"};

typedef struct paper {
    char text[PROMPTS][ROOM];
    size_t length[PROMPTS];
} paper;

static int put(void *user, size_t index, const char *text, size_t length)
{
    paper *p = user;
    if (length >= ROOM - p->length[index])
        return -1;
    memcpy(p->text[index] + p->length[index], text, length);
    p->length[index] += length;
    return 0;
}

static int put_first(void *user, const char *text, size_t length)
{
    return put(user, 0, text, length);
}

static takt_generate_options how(size_t tokens)
{
    takt_generate_options o = {.max_tokens = tokens, .ignore_eos = true};
    o.sampling.temperature = 2;
    o.sampling.seed = 7;
    return o;
}

static takt_status open_pool(takt_ctx *ctx, uint64_t bytes, takt_generator **g)
{
    const takt_generator_options options = {
        .context = 1024, .threads = 1, .parallel = 4, .pool_bytes = bytes};
    return takt_generator_open(ctx, tiny, &options, g);
}

static uint64_t page_bytes(takt_ctx *ctx)
{
    takt_generator *g;
    EXPECT_OK(ctx, open_pool(ctx, 1 << 20, &g));
    const uint64_t bytes = g->engine.kv->layout.block_bytes;
    takt_generator_destroy(g);
    return bytes;
}

/* ---- the same texts ---- */

static void compare(takt_ctx *ctx, uint64_t bytes)
{
    static paper all, one;
    takt_generator *pooled, *plain;
    const takt_generator_options options = {.context = 1024, .threads = 1};
    const takt_generate_options o = how(20);
    EXPECT_OK(ctx, open_pool(ctx, bytes, &pooled));
    EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &options, &plain));
    for (int round = 0; round < 2; round++) { /* then pages of the first round are shared */
        memset(&all, 0, sizeof all);
        EXPECT_OK(ctx, takt_generate_many(pooled, &(takt_prompts){prompts, PROMPTS}, &o, put, &all,
                                          NULL));
        for (size_t i = 0; i < PROMPTS; i++) {
            memset(&one, 0, sizeof one);
            takt_generator_reset(plain);
            EXPECT_OK(ctx, takt_generate(plain, prompts[i], &o, put_first, &one, NULL));
            EXPECT(strcmp(all.text[i], one.text[0]) == 0, "prompt %zu: %s, alone %s", i,
                   all.text[i], one.text[0]);
        }
        EXPECT(pooled->engine.kv->blocks.live_count == 0, "pages are still in use");
    }
    takt_generator_destroy(plain);
    takt_generator_destroy(pooled);
}

static void same_texts(void)
{
    takt_ctx *ctx;
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    const uint64_t page = page_bytes(ctx);
    compare(ctx, 1 << 20);
    compare(ctx, 3 * page); /* one page is for rows without a text: two texts at a time */
    compare(ctx, 2 * page);
    takt_ctx_destroy(ctx);
}

/* ---- mistakes ---- */

static void refused(void)
{
    takt_ctx *ctx;
    takt_generator *g;
    paper p = {.length = {0}};
    EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx));
    const takt_generator_options one = {.pool_bytes = 1 << 20};
    EXPECT(takt_generator_open(ctx, tiny, &one, &g) == TAKT_ERR_ARGUMENT, "a pool for one text");
    EXPECT_OK(ctx, open_pool(ctx, 3 * page_bytes(ctx), &g));
    const takt_generate_options much = how(900), few = how(4);
    EXPECT(takt_generate_many(g, &(takt_prompts){prompts, 2}, &much, put, &p, NULL) ==
                   TAKT_ERR_ARGUMENT &&
               strstr(takt_last_error(ctx), "prompt 1: ") != NULL &&
               strstr(takt_last_error(ctx), "900 more") != NULL,
           "%s", takt_last_error(ctx));
    EXPECT(takt_generate(g, "a b", &few, put_first, &p, NULL) == TAKT_ERR_ARGUMENT &&
               strstr(takt_last_error(ctx), "takt_generate_many alone") != NULL,
           "%s", takt_last_error(ctx));
    EXPECT_OK(ctx, takt_generate_many(g, &(takt_prompts){prompts, 2}, &few, put, &p, NULL));
    /* The third is refused after two have left parts of their prompts, which are then freed. */
    static char large[4 * 1024 + 1];
    for (size_t i = 0; i + 1 < sizeof large; i++)
        large[i] = i % 2 == 0 ? 'a' : ' ';
    const char text[] = "a b c a b c a b c a b c a b c a b c a b c";
    const char *const last[] = {text, text + 2, large};
    EXPECT_STATUS(ctx, takt_generate_many(g, &(takt_prompts){last, 3}, &few, put, &p, NULL),
                  TAKT_ERR_ARGUMENT);
    EXPECT_OK(ctx, takt_generate_many(g, &(takt_prompts){last + 1, 1}, &few, put, &p, NULL));
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
}

/* ---- without memory ---- */

static takt_status scenario(takt_inject *inject, void *user)
{
    static paper p;
    takt_config config = {0};
    takt_ctx *ctx;
    takt_generator *g = NULL;
    (void)user;
    memset(&p, 0, sizeof p);
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    const takt_generate_options o = how(2);
    const takt_inject_mode mode = inject->mode;
    const uint64_t before = inject->operations;
    inject->mode = TAKT_INJECT_OFF; /* opening a model has sweeps of its own */
    status = open_pool(ctx, 1 << 17, &g);
    inject->operations = before;
    inject->mode = mode;
    if (status == TAKT_OK)
        status = takt_generate_many(g, &(takt_prompts){prompts, 2}, &o, put, &p, NULL);
    inject->mode = TAKT_INJECT_OFF;
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
    inject->mode = mode;
    return status;
}

static void swept(void)
{
    const takt_sweep_report r = takt_sweep(scenario, NULL, TAKT_INJECT_MEMORY);
    EXPECT(r.is_good, "%s", r.message);
}

TEST_MAIN(same_texts, refused, swept)
