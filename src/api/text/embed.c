/* embed.c - one vector for a text, by a sentence encoder. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/model.h"
#include "api/text/engine.h"
#include "base/mem.h"

struct takt_embedder {
    takt_engine engine;
    int64_t size;
};

/* Rows of the position table: no text may be longer. 0: there is no table. */
static int64_t most_tokens(const takt_model *m)
{
    const takt_graph *g = m->graph;
    for (size_t i = 0; i < g->slot_count; i++)
        if (strcmp(g->slots[i].name, "position_embd.weight") == 0)
            return g->slots[i].type.dim[0];
    return 0;
}

static takt_status open_all(takt_embedder *e, takt_ctx *ctx, const char *path,
                            const takt_generator_options *options)
{
    char sizes[48];
    TAKT_TRY(takt_engine_open(&e->engine, ctx, path, options, "embedding"));
    e->size = takt_model_output(e->engine.model, 0)->dims[0];
    const int64_t asked = e->engine.options.context, room = most_tokens(e->engine.model);
    const int64_t fallback = room > 0 ? room : 512;
    const int64_t most = asked > 0 && (asked < room || room == 0) ? asked : fallback;
    (void)snprintf(sizes, sizeof sizes, "seq=1..%lld", (long long)most);
    e->engine.options.context = most;
    return takt_engine_plan(&e->engine, sizes);
}

takt_status takt_embedder_open(takt_ctx *ctx, const char *path,
                               const takt_generator_options *options, takt_embedder **embedder)
{
    void *block;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, embedder);
    *embedder = NULL;
    TAKT_NEED(ctx, path);
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof **embedder, "an embedder", &block));
    takt_embedder *e = block;
    e->engine.ctx = ctx;
    const takt_status status = open_all(e, ctx, path, options);
    if (status == TAKT_OK)
        *embedder = e;
    else
        takt_embedder_destroy(e);
    return status;
}

void takt_embedder_destroy(takt_embedder *e)
{
    if (e == NULL)
        return;
    takt_ctx *ctx = e->engine.ctx;
    takt_engine_close(&e->engine);
    takt_mem_put(ctx, e, sizeof *e);
}

size_t takt_embedder_size(const takt_embedder *e)
{
    return e != NULL ? (size_t)e->size : 0;
}

static takt_status run(takt_embedder *e, int64_t *tokens, size_t count, float *vector)
{
    takt_session *s = e->engine.session;
    takt_tensor_view view = {
        .dtype = TAKT_I64, .rank = 1, .dims = {(int64_t)count}, .data = tokens};
    takt_status status = takt_session_bind(s, "tokens", &view);
    if (status == TAKT_OK)
        status = takt_session_run(s);
    if (status != TAKT_OK) {
        if (takt_session_error(s)->status != TAKT_OK)
            e->engine.ctx->error = *takt_session_error(s);
        return status;
    }
    const float *out = takt_session_output(s, 0)->data;
    double sum = 0;
    for (int64_t i = 0; i < e->size; i++)
        sum += (double)out[i] * (double)out[i];
    for (int64_t i = 0; i < e->size; i++)
        vector[i] = sum > 0 ? (float)((double)out[i] / sqrt(sum)) : 0;
    return TAKT_OK;
}

takt_status takt_embed(takt_embedder *e, const char *text, size_t length, float *vector)
{
    takt_token_ids ids = {0};
    void *block = NULL, *wide = NULL;
    TAKT_NEED(NULL, e);
    takt_ctx *ctx = e->engine.ctx;
    TAKT_NEED(ctx, vector);
    TAKT_TRY(takt_tokenize(e->engine.tokenizer, text, length, TAKT_TOKENIZE_ADD, &ids));
    if (ids.count == 0 || ids.count > (uint64_t)e->engine.options.context)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "a text of %zu tokens; 1 to %lld are possible",
                         ids.count, (long long)e->engine.options.context);
    const size_t count = ids.count;
    takt_status status = takt_mem_zero(ctx, count, sizeof *ids.at, "tokens", &block);
    if (status == TAKT_OK)
        status = takt_mem_zero(ctx, count, sizeof(int64_t), "tokens", &wide);
    if (status == TAKT_OK) {
        ids.at = block;
        ids.capacity = count;
        status = takt_tokenize(e->engine.tokenizer, text, length, TAKT_TOKENIZE_ADD, &ids);
    }
    if (status == TAKT_OK) {
        int64_t *tokens = wide;
        for (size_t i = 0; i < count; i++)
            tokens[i] = ids.at[i];
        status = run(e, tokens, count, vector);
    }
    takt_mem_put(ctx, block, count * sizeof *ids.at);
    takt_mem_put(ctx, wide, count * sizeof(int64_t));
    return status;
}
