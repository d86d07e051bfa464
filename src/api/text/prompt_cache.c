/* prompt_cache.c - what a generator has read, in a file: for texts with a common prefix.
 *
 *     "TAKT-KV1", u64 digest of the model, u64 tokens, u64 states,
 *     per state: u32 bytes of its name, u64 bytes of its value, its name;
 *     the tokens as i32, the values one after the other,
 *     i32 the token that was written and not read, if there is one, u32 CRC-32C of all before
 *
 * Numbers are little-endian. Only the used rows of a cache are stored.
 */
#include <string.h>

#include "api/model.h"
#include "api/session/session.h"
#include "api/text/engine.h"
#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "io/file.h"
#include "ir/late.h"

static const char magic[8] = {'T', 'A', 'K', 'T', '-', 'K', 'V', '1'};
enum { HEAD = 32, ENTRY = 12, TAIL = 4 };

static size_t slot_count(const takt_generator *g)
{
    return g->engine.token->plan->graph->slot_count;
}

static const char *slot_name(const takt_generator *g, size_t i)
{
    return g->engine.token->plan->graph->slots[i].name;
}

static takt_status digest_of(const takt_generator *g, uint64_t *digest)
{
    takt_ctx *ctx = g->engine.ctx;
    *digest = takt_model_digest(g->engine.model);
    TAKT_TRY(takt_late_check(ctx));
    return *digest != 0 ? TAKT_OK : takt_fail(ctx, TAKT_E_MEMORY, "no memory for a digest");
}

/* ---- writing ---- */

static void put(uint8_t **at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *(*at)++ = (uint8_t)(value >> 8 * i);
}

/* A text: the generator's, or one that its pool of caches keeps. */
typedef struct source {
    const takt_generator *g;
    const takt_kv_kept *kept; /* NULL: it is the generator's */
    const int32_t *ids;
    int64_t tokens;
    bool has_unread;
} source;

static size_t file_bytes(const source *o)
{
    const takt_generator *g = o->g;
    size_t bytes = HEAD + ((size_t)o->tokens + o->has_unread) * sizeof(int32_t) + TAIL;
    for (size_t i = 0; i < slot_count(g); i++)
        bytes += ENTRY + strlen(slot_name(g, i)) + takt_generator_state_bytes(g, i, o->tokens);
    return bytes;
}

static takt_status read_state(const source *o, size_t i, void *to, size_t bytes)
{
    const takt_kv *kv = o->g->engine.kv;
    if (o->kept == NULL)
        return takt_generator_state_read(o->g, i, to, bytes);
    if (kv->storages[i] != NULL)
        takt_kv_read(kv, &o->kept->table, i, (size_t)o->tokens, to);
    else
        memcpy(to, &o->tokens, bytes); /* the count of tokens: takt_kv_divide allows no other */
    return TAKT_OK;
}

static takt_status fill(const source *o, uint8_t *to, size_t bytes)
{
    const takt_generator *g = o->g;
    uint64_t digest;
    uint8_t *at = to;
    TAKT_TRY(digest_of(g, &digest));
    memcpy(at, magic, sizeof magic);
    at += sizeof magic;
    put(&at, digest, 8);
    put(&at, (uint64_t)o->tokens, 8);
    put(&at, slot_count(g), 8);
    for (size_t i = 0; i < slot_count(g); i++) {
        const size_t length = strlen(slot_name(g, i));
        put(&at, length, 4);
        put(&at, takt_generator_state_bytes(g, i, o->tokens), 8);
        memcpy(at, slot_name(g, i), length);
        at += length;
    }
    for (int64_t i = 0; i < o->tokens; i++)
        put(&at, (uint32_t)o->ids[i], 4);
    for (size_t i = 0; i < slot_count(g); i++) {
        const size_t length = takt_generator_state_bytes(g, i, o->tokens);
        TAKT_TRY(read_state(o, i, at, length));
        at += length;
    }
    if (o->has_unread)
        put(&at, (uint32_t)g->unread, 4);
    put(&at, takt_crc32c(0, to, bytes - TAIL), 4);
    return TAKT_OK;
}

static takt_status save(const source *o, const char *path)
{
    takt_ctx *ctx = o->g->engine.ctx;
    void *block;
    const size_t bytes = file_bytes(o);
    TAKT_TRY(takt_mem_zero(ctx, bytes, 1, "a prompt cache", &block));
    takt_status status = fill(o, block, bytes);
    if (status == TAKT_OK)
        status = takt_write_private(ctx, path, block, bytes);
    takt_mem_put(ctx, block, bytes);
    return status;
}

static takt_status check_kind(const takt_generator *g)
{
    return g->engine.has_encoder
               ? takt_fail(g->engine.ctx, TAKT_E_GGUF_UNSUPPORTED,
                           "a prompt that an encoder reads cannot be kept in a file")
               : TAKT_OK;
}

takt_status takt_generator_save(takt_generator *g, const char *path)
{
    TAKT_NEED(NULL, g);
    TAKT_NEED(g->engine.ctx, path);
    TAKT_TRY(check_kind(g));
    TAKT_TRY(takt_generator_settle(g));
    return save(
        &(source){.g = g, .ids = g->history, .tokens = g->position, .has_unread = g->has_unread},
        path);
}

takt_status takt_generator_save_kept(const takt_generator *g, const takt_kv_kept *kept,
                                     const char *path)
{
    return save(&(source){.g = g, .kept = kept, .ids = kept->ids, .tokens = (int64_t)kept->count},
                path);
}

/* ---- reading ---- */

static takt_status damaged(const takt_generator *g, const char *path, const char *what)
{
    return takt_fail(g->engine.ctx, TAKT_E_PROMPT_CACHE, "%s: %s", path, what);
}

/* Checks that states and tokens fit this model; `c` is then at the tokens. */
static takt_status check_head(const takt_generator *g, const char *path, takt_cursor *c,
                              uint64_t *tokens)
{
    uint64_t digest;
    TAKT_TRY(digest_of(g, &digest));
    (void)takt_cursor_skip(c, sizeof magic);
    if (takt_cursor_u64le(c) != digest) {
        (void)takt_fail(g->engine.ctx, TAKT_E_PROMPT_CACHE_MODEL,
                        "%s is the cache of another model, context, kind of activations or type of "
                        "cache (-ctk, -ctv)",
                        path);
        return takt_fail_hint(g->engine.ctx, "remove it, or give another name");
    }
    *tokens = takt_cursor_u64le(c);
    if (c->failed || *tokens > (uint64_t)g->context)
        return damaged(g, path, "it has more tokens than the context");
    if (takt_cursor_u64le(c) != slot_count(g))
        return damaged(g, path, "it has another number of states than the model");
    for (size_t i = 0; i < slot_count(g); i++) {
        const uint32_t length = takt_cursor_u32le(c);
        const uint64_t bytes = takt_cursor_u64le(c);
        const uint8_t *name = takt_cursor_take(c, length);
        if (name == NULL || length != strlen(slot_name(g, i)) ||
            memcmp(name, slot_name(g, i), length) != 0 ||
            bytes != takt_generator_state_bytes(g, i, (int64_t)*tokens))
            return damaged(g, path, "a state has another name or size than the model's");
    }
    return TAKT_OK;
}

static takt_status check_tokens(const takt_generator *g, const char *path, takt_cursor *c,
                                uint64_t tokens)
{
    size_t bytes = 0;
    for (uint64_t i = 0; i < tokens; i++)
        if (takt_cursor_u32le(c) >= (uint64_t)g->vocabulary || c->failed)
            return damaged(g, path, "a token is not in the vocabulary");
    for (size_t i = 0; i < slot_count(g); i++)
        bytes += takt_generator_state_bytes(g, i, (int64_t)tokens);
    if (takt_cursor_left(c) != bytes && takt_cursor_left(c) != bytes + sizeof(int32_t))
        return damaged(g, path, "it has another length");
    takt_cursor values = *c;
    for (size_t i = 0; i < slot_count(g); i++) {
        const size_t part = takt_generator_state_bytes(g, i, (int64_t)tokens);
        if (!takt_generator_state_fits(g, i, takt_cursor_take(&values, part), (int64_t)tokens))
            return damaged(g, path, "its count of tokens is another one than its state's");
    }
    if (takt_cursor_left(&values) > 0 && takt_cursor_u32le(&values) >= (uint64_t)g->vocabulary)
        return damaged(g, path, "a token is not in the vocabulary");
    return TAKT_OK;
}

takt_status takt_generator_load_bytes(takt_generator *g, const char *path, const uint8_t *bytes,
                                      size_t length)
{
    uint64_t tokens = 0;
    if (length < HEAD + TAIL || memcmp(bytes, magic, sizeof magic) != 0)
        return damaged(g, path, "it is not a prompt cache");
    takt_cursor sum = takt_cursor_of(bytes + length - TAIL, TAIL, length - TAIL);
    if (takt_cursor_u32le(&sum) != takt_crc32c(0, bytes, length - TAIL))
        return damaged(g, path, "its checksum is wrong");
    takt_cursor c = takt_cursor_of(bytes, length - TAIL, 0);
    TAKT_TRY(check_head(g, path, &c, &tokens));
    takt_cursor ids = c;
    TAKT_TRY(check_tokens(g, path, &c, tokens));
    takt_generator_reset(g);
    for (uint64_t i = 0; i < tokens; i++)
        g->history[i] = (int32_t)takt_cursor_u32le(&ids);
    if (g->engine.kv != NULL) {
        if (!takt_kv_fits(g->engine.kv, g->history, tokens, tokens + 1))
            return TAKT_OK;
        TAKT_TRY(takt_kv_admit(g, g->history, tokens, tokens + 1));
    }
    const int64_t has = g->position; /* of a text in the pool with the same prefix */
    for (size_t i = 0; i < slot_count(g); i++) {
        const size_t part = takt_generator_state_bytes(g, i, (int64_t)tokens);
        TAKT_TRY(takt_generator_state_write(g, i, has, takt_cursor_take(&c, part), part));
    }
    g->position = (int64_t)tokens;
    g->has_unread = takt_cursor_left(&c) > 0;
    g->unread = g->has_unread ? (int32_t)takt_cursor_u32le(&c) : 0;
    return TAKT_OK;
}

bool takt_is_prompt_cache(takt_ctx *ctx, const char *path)
{
    const takt_files *files = &ctx->files;
    char head[sizeof magic];
    size_t done = 0;
    takt_file *file = NULL;
    const bool is_read = files->open_read(files->user, path, &file) == 0 &&
                         files->read(files->user, file, 0, head, sizeof head, &done) == 0;
    files->close(files->user, file);
    return is_read && done == sizeof head && memcmp(head, magic, sizeof magic) == 0;
}

takt_status takt_generator_load(takt_generator *g, const char *path)
{
    void *bytes;
    size_t length;
    TAKT_NEED(NULL, g);
    TAKT_NEED(g->engine.ctx, path);
    TAKT_TRY(check_kind(g));
    TAKT_TRY(takt_read_file(g->engine.ctx, path, &bytes, &length));
    const takt_status status = takt_generator_load_bytes(g, path, bytes, length);
    takt_mem_put(g->engine.ctx, bytes, length);
    return status;
}
