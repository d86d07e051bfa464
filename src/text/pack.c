/* pack.c - the tokenizer of a GGUF file, a folder or a compiled model as a GGUF file without
 * tensors. */
#include "text/pack.h"

#include <string.h>

#include "base/ctx.h"
#include "io/gguf/gguf_write.h"
#include "io/takt/taktp.h"
#include "text/tokenizer.h"

/* A GGUF file without tensors. */
static void put_file(const takt_gguf_keys *k, takt_text *to)
{
    char head[24] = {'G', 'G', 'U', 'F', 3};
    for (size_t i = 0; i < 8; i++)
        head[16 + i] = (char)(uint8_t)(k->count >> (8 * i));
    takt_text_put(to, head, sizeof head);
    takt_text_put(to, k->text.at, k->text.length);
    if (k->text.status != TAKT_OK)
        to->status = k->text.status;
}

static takt_status take_gguf(takt_skim *s, takt_gguf_keys *k)
{
    takt_arena arena;
    takt_gguf g = {.value_count = 0};
    takt_arena_init(&arena, s->ctx);
    takt_status status = takt_gguf_skim(s);
    if (status == TAKT_OK)
        status = takt_gguf_parse(&arena, s->path, s->bytes, s->length, s->length, &g);
    for (size_t i = 0; status == TAKT_OK && i < g.value_count; i++)
        if (strncmp(g.values[i].key, "tokenizer.", strlen("tokenizer.")) == 0)
            takt_gguf_put_value(k, &g.values[i]);
    takt_arena_deinit(&arena);
    return status;
}

static takt_status take_compiled(takt_skim *s, takt_text *to)
{
    takt_span tokens;
    TAKT_TRY(takt_read_skimmed(s));
    const takt_source source = {
        .ctx = s->ctx, .name = s->path, .bytes = s->bytes, .length = s->length, .skim = s};
    TAKT_TRY(takt_taktp_tokens(&source, &tokens));
    takt_text_put(to, tokens.at, tokens.length);
    return TAKT_OK;
}

static takt_status take_file(takt_ctx *ctx, const char *path, takt_gguf_keys *k, takt_text *to)
{
    takt_skim s;
    takt_status status = TAKT_OK;
    TAKT_TRY(takt_skim_open(ctx, path, &s));
    if (takt_gguf_recognises(s.bytes, s.have))
        status = take_gguf(&s, k);
    else if (takt_taktp_recognises(s.bytes, s.have))
        status = take_compiled(&s, to);
    takt_skim_close(&s);
    return status;
}

/* What GGUF cannot express is left out: the model computes without it. */
static takt_status take_folder(takt_ctx *ctx, const char *path, takt_gguf_keys *k)
{
    takt_tokenizer *t;
    TAKT_TRY(takt_tokenizer_load(ctx, path, &t));
    const takt_status status = takt_tokenizer_write_gguf(t, 0, k);
    takt_tokenizer_destroy(t);
    if (status != TAKT_ERR_UNSUPPORTED)
        return status;
    takt_log(ctx, TAKT_LOG_WARNING, "the compiled model has no tokenizer: %s", ctx->error.message);
    k->count = 0;
    return TAKT_OK;
}

takt_status takt_tokenizer_pack(takt_ctx *ctx, const char *path, takt_text *bytes)
{
    takt_text file;
    takt_gguf_keys keys;
    takt_text_init(&file, ctx);
    takt_gguf_keys_init(&keys, ctx);
    takt_status status = takt_tokenizer_inside(ctx, path, &file);
    if (status == TAKT_OK)
        status =
            file.length > 0 ? take_folder(ctx, path, &keys) : take_file(ctx, path, &keys, bytes);
    if (status == TAKT_OK && keys.count > 0)
        put_file(&keys, bytes);
    takt_gguf_keys_deinit(&keys);
    takt_text_deinit(&file);
    return status == TAKT_OK ? bytes->status : status;
}
