/* load.c - language models while memory, files and threads fail: the right error, nothing left. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "base/error.h"
#include "util/inject.h"
#include "util/memfs.h"

static const char tiny[] = "tests/corpus/gguf/tiny.gguf";

static int put(void *user, const char *text, size_t length)
{
    (void)user;
    (void)text;
    (void)length;
    return 0;
}

static takt_status load(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_model *model = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_model_load(ctx, user, NULL, &model);
    takt_model_destroy(model);
    takt_ctx_destroy(ctx);
    return status;
}

static takt_status generate(takt_inject *inject, void *user)
{
    const takt_generator_options small = {.context = 16, .batch = 2, .threads = 1};
    const takt_generate_options how = {.max_tokens = 3, .ignore_eos = true, .stop = "zz"};
    takt_config config = {0};
    takt_ctx *ctx;
    takt_generator *g = NULL;
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_generator_open(ctx, user, &small, &g);
    if (status == TAKT_OK)
        status = takt_generate(g, "a b a", &how, put, NULL, NULL);
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
    return status;
}

static takt_status embed(takt_inject *inject, void *user)
{
    takt_config config = {0};
    takt_ctx *ctx;
    takt_embedder *e = NULL;
    float vector[32];
    takt_inject_config(inject, &config);
    takt_status status = takt_ctx_create(&config, &ctx);
    if (status != TAKT_OK)
        return status;
    status = takt_embedder_open(ctx, user, &(takt_generator_options){.threads = 1}, &e);
    if (status == TAKT_OK)
        status = takt_embed(e, "a b", 3, vector);
    takt_embedder_destroy(e);
    takt_ctx_destroy(ctx);
    return status;
}

static void expect(takt_scenario *scenario, const char *path, uint64_t most)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%s", path);
    const takt_sweep_report r = takt_sweep_some(scenario, copy, TAKT_INJECT_ALL, most);
    EXPECT(r.is_good, "%s: %s", path, r.message);
}

static void sweep(void)
{
    expect(load, tiny, 300);
    expect(generate, tiny, 60);
    expect(generate, "tests/corpus/hf_tiny", 60);
    expect(embed, "tests/corpus/gguf/tiny_bert.gguf", 1000);
}

/* ---- sinks ---- */

static int refuse(void *user, const char *text, size_t length)
{
    (void)text;
    (void)length;
    ++*(int *)user;
    return 1;
}

/* A sink that has ended the text is not called again for held-back pieces. */
static void refusal(void)
{
    /* The first token is " b": the space is given out, "b" may be the beginning of "bz". */
    const takt_token_bias bias = {5, 100};
    const takt_generate_options how = {
        .max_tokens = 3, .stop = "bz", .sampling = {.bias = &bias, .bias_count = 1}};
    const takt_generator_options small = {.context = 16, .threads = 1};
    takt_ctx *ctx;
    takt_generator *g = NULL;
    takt_generated result;
    int calls = 0;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    EXPECT_OK(ctx, takt_generator_open(ctx, tiny, &small, &g));
    EXPECT_OK(ctx, takt_generate(g, "a b", &how, refuse, &calls, &result));
    EXPECT(calls == 1 && result.end == TAKT_TEXT_STOP, "%d", calls);
    takt_generator_destroy(g);
    takt_ctx_destroy(ctx);
}

/* ---- ids that no token has ---- */

static void gaps(void)
{
    static const char text[] =
        "{\"pre_tokenizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": "
        "\"BPE\", \"vocab\": {\"a\": 0, \"b\": 5}, \"merges\": []}}";
    char room[4];
    takt_token_text back = {room, sizeof room, 0};
    takt_ctx *ctx;
    takt_tokenizer *t;
    if (!EXPECT_OK(NULL, takt_ctx_create(NULL, &ctx)))
        return;
    EXPECT_OK(ctx, takt_tokenizer_load_memory(ctx, "gaps", text, sizeof text - 1, &t));
    EXPECT_OK(ctx, takt_detokenize(t, (const int32_t[]){0, 3, 5}, 3, 0, &back));
    EXPECT_EQ(back.length, 2);
    EXPECT_EQ(memcmp(room, "ab", 2), 0);
    takt_tokenizer_destroy(t);
    takt_ctx_destroy(ctx);
}

/* ---- models of other formats ---- */

#define HEAD                                                                                       \
    "model m(tokens: i64[seq], wanted: i64[count]) {\n"                                            \
    "  param table: f32[11, 11]\n"                                                                 \
    "  x = gather(gather(table, tokens, axis=0), wanted, axis=0)\n"                                \
    "  return logits = "

/* Models with the right names but unusable results. */
static void strangers(void)
{
    static const char *const texts[] = {HEAD "cast(x, dtype=f16)\n}\n", HEAD "x[0]\n}\n",
                                        HEAD "x[:1]\n}\n"};
    const takt_generator_options with = {.tokenizer = "tiny.gguf", .threads = 1};
    const int32_t ids[3] = {4, 5, 6};
    double logs[2];
    char bytes[1 << 16];
    takt_ctx *ctx;
    takt_memfs *fs = takt_memfs_create();
    FILE *file = fopen(tiny, "rb");
    if (!EXPECT(fs != NULL && file != NULL))
        return;
    const size_t length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    EXPECT_IS(length, <, sizeof bytes);
    EXPECT_EQ(takt_memfs_put(fs, "tiny.gguf", bytes, length), 0);
    const takt_files files = takt_memfs_files(fs);
    const takt_config config = {.files = &files};
    EXPECT_OK(NULL, takt_ctx_create(&config, &ctx));
    for (size_t i = 0; i < 3; i++) {
        takt_generator *g = NULL;
        EXPECT_EQ(takt_memfs_put(fs, "m.takt", texts[i], strlen(texts[i])), 0);
        takt_status status = takt_generator_open(ctx, "m.takt", &with, &g);
        if (i == 2) { /* seen when the first rows come */
            EXPECT_OK(ctx, status);
            status = takt_generator_rate(g, ids, 3, logs);
        }
        EXPECT_STATUS(ctx, status, TAKT_ERR_UNSUPPORTED);
        EXPECT_EQ(takt_last_error_info(ctx)->id, TAKT_E_GGUF_UNSUPPORTED);
        takt_generator_destroy(g);
    }
    takt_ctx_destroy(ctx);
    takt_memfs_destroy(fs);
}

TEST_MAIN(sweep, refusal, gaps, strangers)
