/* gguf_write.c - header, then tensors, each at the next multiple of the alignment. */
#include "io/gguf/gguf_write.h"

#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "io/file.h"
#include "io/gguf/shards.h"

enum { ALIGNMENT = 32 };

/* ---- bytes ---- */

static void put(takt_text *text, uint64_t bits, size_t width)
{
    char bytes[8];
    for (size_t i = 0; i < width; i++)
        bytes[i] = (char)(uint8_t)(bits >> (8 * i));
    takt_text_put(text, bytes, width);
}

static void put_span(takt_text *text, takt_span span)
{
    put(text, span.length, 8);
    takt_text_put(text, span.at, span.length);
}

/* ---- metadata ---- */

void takt_gguf_keys_init(takt_gguf_keys *k, takt_ctx *ctx)
{
    takt_text_init(&k->text, ctx);
    k->count = 0;
}

void takt_gguf_keys_deinit(takt_gguf_keys *k)
{
    takt_text_deinit(&k->text);
}

static void head(takt_gguf_keys *k, const char *key, takt_gguf_kind kind)
{
    put_span(&k->text, takt_span_of(key));
    put(&k->text, kind, 4);
    k->count++;
}

void takt_gguf_put_array(takt_gguf_keys *k, const char *key, takt_gguf_kind kind, uint64_t count)
{
    head(k, key, TAKT_GGUF_ARRAY);
    put(&k->text, kind, 4);
    put(&k->text, count, 8);
}

void takt_gguf_put_word(takt_gguf_keys *k, uint32_t bits)
{
    put(&k->text, bits, 4);
}

void takt_gguf_put_span(takt_gguf_keys *k, takt_span text)
{
    put_span(&k->text, text);
}

void takt_gguf_put_u32(takt_gguf_keys *k, const char *key, uint32_t value)
{
    head(k, key, TAKT_GGUF_U32);
    put(&k->text, value, 4);
}

void takt_gguf_put_bool(takt_gguf_keys *k, const char *key, bool value)
{
    head(k, key, TAKT_GGUF_BOOL);
    put(&k->text, value, 1);
}

void takt_gguf_put_text(takt_gguf_keys *k, const char *key, takt_span text)
{
    head(k, key, TAKT_GGUF_STRING);
    put_span(&k->text, text);
}

void takt_gguf_put_value(takt_gguf_keys *k, const takt_gguf_value *v)
{
    static const uint8_t widths[TAKT_GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    if (v->is_array)
        takt_gguf_put_array(k, v->key, v->kind, v->count);
    else
        head(k, v->key, v->kind);
    for (size_t i = 0; v->kind == TAKT_GGUF_STRING && i < v->count; i++)
        put_span(&k->text, v->texts[i]);
    if (v->kind != TAKT_GGUF_STRING && v->count > 0)
        takt_text_put(&k->text, (const char *)v->bytes, v->count * widths[v->kind]);
}

/* ---- the file ---- */

typedef struct writer {
    takt_ctx *ctx;
    const char *path;
    takt_file *file;
} writer;

static takt_status write(const writer *w, const void *bytes, size_t count)
{
    const int error =
        count > 0 ? w->ctx->files.write(w->ctx->files.user, w->file, bytes, count) : 0;
    return error == 0 ? TAKT_OK
                      : takt_fail_file(w->ctx, TAKT_E_FILE_WRITE, w->path, "write", error);
}

static takt_status fill_up(const writer *w, size_t length)
{
    static const uint8_t zeros[ALIGNMENT] = {0};
    return write(w, zeros, (ALIGNMENT - length % ALIGNMENT) % ALIGNMENT);
}

/* Sizes and offsets of the tensors, and the bytes of the largest. */
static takt_status arrange(takt_ctx *ctx, takt_gguf_tensor *tensors, size_t count, size_t *most)
{
    size_t at = 0;
    *most = 0;
    for (size_t i = 0; i < count; i++) {
        takt_gguf_tensor *t = &tensors[i];
        bool fits = true;
        t->count = 1;
        for (int d = 0; fits && d < t->rank; d++)
            fits = takt_size_mul(t->count, (size_t)t->dims[d], &t->count);
        t->offset = at;
        if (!fits || !takt_size_mul(t->count / t->type->elements, t->type->bytes, &t->bytes) ||
            !takt_size_add(at, t->bytes, &at) || !takt_size_align(at, ALIGNMENT, &at))
            return takt_fail(ctx, TAKT_E_OVERFLOW, "%s is too large", t->name);
        *most = t->bytes > *most ? t->bytes : *most;
    }
    return TAKT_OK;
}

static takt_status write_header(const writer *w, const takt_gguf_keys *k,
                                const takt_gguf_tensor *tensors, size_t count)
{
    takt_text text;
    takt_text_init(&text, w->ctx);
    takt_text_put(&text, "GGUF", 4);
    put(&text, 3, 4);
    put(&text, count, 8);
    put(&text, k->count, 8);
    takt_text_put(&text, takt_text_get(&k->text), k->text.length);
    for (size_t i = 0; i < count; i++) {
        const takt_gguf_tensor *t = &tensors[i];
        put_span(&text, takt_span_of(t->name));
        put(&text, (uint64_t)t->rank, 4);
        for (int d = t->rank - 1; d >= 0; d--)
            put(&text, (uint64_t)t->dims[d], 8);
        put(&text, t->type->number, 4);
        put(&text, t->offset, 8);
    }
    takt_status status = text.status;
    if (status == TAKT_OK)
        status = write(w, takt_text_get(&text), text.length);
    if (status == TAKT_OK)
        status = fill_up(w, text.length);
    takt_text_deinit(&text);
    return status;
}

static takt_status write_all(const writer *w, const takt_gguf_keys *k, const takt_gguf_tensors *all)
{
    size_t most;
    void *block;
    TAKT_TRY(k->text.status);
    TAKT_TRY(arrange(w->ctx, all->at, all->count, &most));
    TAKT_TRY(write_header(w, k, all->at, all->count));
    TAKT_TRY(takt_mem_get(w->ctx, most > 0 ? most : 1, "a tensor", &block));
    takt_status status = TAKT_OK;
    for (size_t i = 0; status == TAKT_OK && i < all->count; i++) {
        status = all->bytes(all->user, all->first + i, block);
        if (status == TAKT_OK)
            status = write(w, block, all->at[i].bytes);
        if (status == TAKT_OK)
            status = fill_up(w, all->at[i].bytes);
    }
    takt_mem_put(w->ctx, block, most > 0 ? most : 1);
    return status;
}

takt_status takt_gguf_write(takt_ctx *ctx, const char *path, const takt_gguf_keys *k,
                            const takt_gguf_tensors *tensors)
{
    writer w = {.ctx = ctx, .path = path};
    int error = ctx->files.create(ctx->files.user, path, &w.file);
    if (error != 0)
        return takt_fail_file(ctx, TAKT_E_FILE_WRITE, path, "create", error);
    takt_status status = write_all(&w, k, tensors);
    if (status == TAKT_OK) {
        error = ctx->files.commit(ctx->files.user, w.file);
        if (error != 0)
            status = takt_fail_file(ctx, TAKT_E_FILE_WRITE, path, "write", error);
    }
    ctx->files.close(ctx->files.user, w.file);
    return status;
}

/* ---- parts ---- */

/* Tensors from `first` on that fit into one part. */
static size_t take(const takt_gguf_tensors *all, size_t first, uint64_t most)
{
    uint64_t bytes = 0;
    size_t count = 0;
    for (size_t i = first; i < all->count; i++, count++) {
        if (count > 0 && (bytes > most || all->at[i].bytes > most - bytes))
            break;
        bytes += all->at[i].bytes;
    }
    return count;
}

static void put_number(takt_gguf_keys *k, const char *key, takt_gguf_kind kind, size_t value)
{
    const uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                              (uint8_t)(value >> 24)};
    takt_gguf_put_value(k,
                        &(takt_gguf_value){.key = key, .kind = kind, .count = 1, .bytes = bytes});
}

/* The types that llama.cpp's files use. */
static void put_place(takt_gguf_keys *k, size_t i, size_t count, size_t tensors)
{
    put_number(k, "split.no", TAKT_GGUF_U16, i);
    put_number(k, "split.count", TAKT_GGUF_U16, count);
    put_number(k, "split.tensors.count", TAKT_GGUF_I32, tensors);
}

/* The metadata of the model is in the first part. */
static takt_status write_shard(takt_ctx *ctx, const char *path, takt_gguf_keys *model,
                               const takt_gguf_tensors *part, size_t i, const size_t whole[2])
{
    takt_gguf_keys own;
    takt_gguf_keys_init(&own, ctx);
    takt_gguf_keys *k = i == 0 ? model : &own;
    put_place(k, i, whole[0], whole[1]);
    const takt_status status = takt_gguf_write(ctx, path, k, part);
    takt_gguf_keys_deinit(&own);
    return status;
}

takt_status takt_gguf_write_shards(takt_ctx *ctx, const char *path, takt_gguf_keys *k,
                                   const takt_gguf_tensors *tensors, uint64_t bytes, size_t *count)
{
    takt_arena arena;
    size_t most;
    TAKT_TRY(arrange(ctx, tensors->at, tensors->count, &most));
    *count = 0;
    for (size_t i = 0; bytes > 0 && i < tensors->count; (*count)++)
        i += take(tensors, i, bytes);
    if (*count < 2) {
        *count = 1;
        return takt_gguf_write(ctx, path, k, tensors);
    }
    if (*count > TAKT_GGUF_SHARDS_MAX)
        return takt_fail(ctx, TAKT_E_OPTION, "parts of %llu bytes would be %zu; %d are allowed",
                         (unsigned long long)bytes, *count, TAKT_GGUF_SHARDS_MAX);
    takt_arena_init(&arena, ctx);
    takt_status status = TAKT_OK;
    takt_gguf_tensors part = *tensors;
    for (size_t i = 0; status == TAKT_OK && i < *count; i++) {
        const char *name = takt_gguf_shard_name(&arena, path, i, *count);
        part.first += i == 0 ? 0 : part.count;
        part.at = tensors->at + part.first;
        part.count = take(tensors, part.first, bytes);
        status = name == NULL ? TAKT_ERR_MEMORY
                              : write_shard(ctx, name, k, &part, i,
                                            (const size_t[]){*count, tensors->count});
    }
    takt_arena_deinit(&arena);
    return status;
}
