/* load.c - language models while memory, files and threads fail: the right error, nothing left. */
#include <stdlib.h>
#include <string.h>

#include <takt/takt.h>

#include "../test.h"
#include "util/inject.h"

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
    expect(embed, "tests/corpus/gguf/tiny_bert.gguf", 1000);
}

TEST_MAIN(sweep)
