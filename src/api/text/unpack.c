/* unpack.c - a GGUF file as a Hugging Face folder. */
#include <string.h>

#include <takt/text.h>

#include "io/file.h"
#include "io/gguf/gguf_write.h"
#include "io/hf/hf_write.h"
#include "text/tokenizer.h"

typedef takt_status write_fn(const takt_tokenizer *t, takt_text *text);

static takt_status write_one(const takt_tokenizer *t, const char *folder, const char *name,
                             write_fn *write)
{
    takt_text text, path;
    takt_text_init(&text, t->ctx);
    takt_text_init(&path, t->ctx);
    takt_text_add(&path, "%s/%s", folder, name);
    takt_status status = write(t, &text);
    if (status == TAKT_OK)
        status = path.status;
    if (status == TAKT_OK)
        status = takt_write_text(t->ctx, takt_text_get(&path), &text);
    takt_text_deinit(&path);
    takt_text_deinit(&text);
    return status;
}

/* A file without a tokenizer becomes a folder without one. */
static takt_status write_tokenizer(takt_hf_out *o, const char *from)
{
    takt_tokenizer *t;
    if (takt_gguf_find(o->m->g, "tokenizer.ggml.tokens") == NULL) {
        takt_log(o->ctx, TAKT_LOG_WARNING, "no tokenizer in %s: the folder has none", from);
        return TAKT_OK;
    }
    TAKT_TRY(takt_tokenizer_load(o->ctx, from, &t));
    o->bos = t->roles[TAKT_TOKEN_BOS];
    o->eos = t->roles[TAKT_TOKEN_EOS];
    o->pad = t->roles[TAKT_TOKEN_PAD];
    takt_status status = write_one(t, o->folder, "tokenizer.json", takt_tokenizer_write_json);
    if (status == TAKT_OK)
        status = write_one(t, o->folder, "tokenizer_config.json", takt_tokenizer_write_config);
    takt_tokenizer_destroy(t);
    return status;
}

static void tell_blocks(const takt_hf_out *o)
{
    size_t count = 0;
    for (size_t i = 0; i < o->m->g->tensor_count; i++)
        count += o->m->g->tensors[i].type->dtype == TAKT_DTYPE_COUNT;
    if (count > 0)
        takt_log(o->ctx, TAKT_LOG_WARNING, "%zu %s of blocks %s written as %s: folders have floats",
                 count, count == 1 ? "tensor" : "tensors", count == 1 ? "is" : "are",
                 o->type != NULL ? o->type->name : "F32");
}

static takt_status unpack(takt_hf_out *o, const char *from)
{
    takt_span name = takt_span_of("");
    TAKT_TRY(takt_gguf_get_text(o->m->g, "general.architecture", &name));
    o->architecture = takt_arena_text(o->arena, name.at, name.length);
    if (o->architecture == NULL)
        return TAKT_ERR_MEMORY;
    if (strcmp(o->architecture, "common") == 0 || takt_gguf_arch(o->architecture) == NULL)
        return takt_gguf_fail(o->m->g, TAKT_E_GGUF_UNSUPPORTED, 0,
                              "the architecture %.60s is not known", o->architecture);
    TAKT_TRY(takt_hf_out_begin(o));
    tell_blocks(o);
    TAKT_TRY(write_tokenizer(o, from));
    return takt_hf_write(o);
}

/* The file, opened as a model that is read tensor by tensor. */
static takt_status open(takt_hf_out *o, const char *from)
{
    takt_skim skim;
    takt_gguf g;
    takt_gguf_shards shards = {.count = 0};
    TAKT_TRY(takt_skim_open(o->ctx, from, &skim));
    takt_status status = takt_gguf_recognises(skim.bytes, skim.have)
                             ? takt_gguf_skim(&skim)
                             : takt_fail(o->ctx, TAKT_E_GGUF, "%s is not a GGUF file", from);
    if (status == TAKT_OK)
        status = takt_gguf_parse(o->arena, from, skim.bytes, skim.length, skim.length, &g);
    const takt_source source = {.ctx = o->ctx,
                                .name = from,
                                .folder = ".", /* `name` is a path */
                                .bytes = skim.bytes,
                                .length = skim.length,
                                .skim = &skim};
    if (status == TAKT_OK)
        status = takt_gguf_shards_open(&shards, o->arena, &source, &g);
    if (status == TAKT_OK) {
        const takt_gguf_model m = {.ctx = o->ctx, .source = &source, .g = &g, .shards = &shards};
        o->m = &m;
        status = unpack(o, from);
        o->m = NULL;
    }
    takt_gguf_shards_close(&shards);
    takt_skim_close(&skim);
    return status;
}

takt_status takt_text_unpack(takt_ctx *ctx, const char *from, const char *folder, const char *type)
{
    takt_arena arena;
    TAKT_NEED(ctx, ctx);
    TAKT_NEED(ctx, from);
    TAKT_NEED(ctx, folder);
    takt_hf_out o = {
        .ctx = ctx, .arena = &arena, .folder = folder, .bos = -1, .eos = -1, .pad = -1};
    if (type != NULL && strcmp(type, "auto") != 0) {
        o.type = takt_gguf_written_type(type);
        if (o.type == NULL || o.type->dtype == TAKT_DTYPE_COUNT) {
            (void)takt_fail(ctx, TAKT_E_OPTION, "tensors of a folder cannot be %.40s", type);
            return takt_fail_hint(ctx, "auto, f32, f16 and bf16 can");
        }
    }
    takt_arena_init(&arena, ctx);
    const takt_status status = open(&o, from);
    takt_arena_deinit(&arena);
    return status;
}
