/* fz_taktp.c - any bytes as a compiled model, unchanged and with every checksum corrected: refused
 * with a message, or loaded, saved and loaded again as the same file; and its tokenizer, whose ids
 * of a text are in the vocabulary; nothing leaks. */
#include <takt/tokenizer.h>

#include "api/model.h"
#include "base/crc32c.h"
#include "base/ctx.h"
#include "fuzz/target.h"
#include "io/takt/taktp.h"

static uint64_t get(const uint8_t *from, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | from[i];
    return value;
}

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

/* Seals the weights that the table describes, as far as it can be followed. */
static void seal_weights(uint8_t *index, size_t length, const uint8_t *data, size_t data_length)
{
    size_t at = 0;
    while (length - at >= 8) {
        const uint64_t rank = get(index + at + 4, 4);
        const size_t tail = at + 8 + 8 * (size_t)rank;
        if (rank > 16 || tail > length || length - tail < 24)
            return;
        const uint64_t offset = get(index + tail, 8), bytes = get(index + tail + 8, 8);
        if (offset > data_length || bytes > data_length - offset)
            return;
        put32(index + tail + 16, takt_crc32c(0, data + offset, (size_t)bytes));
        const uint64_t name = get(index + tail + 20, 4);
        if (name > length - tail - 24)
            return;
        at = tail + 24 + (size_t)name;
    }
}

static bool inside(const uint8_t *entry, size_t size)
{
    const uint64_t offset = get(entry + 8, 8), length = get(entry + 16, 8);
    return offset <= size && length <= size - offset;
}

static void seal(uint8_t *at, size_t size)
{
    uint8_t *index = NULL, *data = NULL;
    const uint64_t count = get(at + 24, 4);
    if (count > (size - TAKTP_HEADER) / TAKTP_ENTRY)
        return;
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *e = at + TAKTP_HEADER + i * TAKTP_ENTRY;
        if (inside(e, size) && get(e, 4) == TAKTP_WEIGHTS)
            index = e;
        if (inside(e, size) && get(e, 4) == TAKTP_DATA)
            data = e;
    }
    if (index != NULL && data != NULL)
        seal_weights(at + get(index + 8, 8), (size_t)get(index + 16, 8), at + get(data + 8, 8),
                     (size_t)get(data + 16, 8));
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *e = at + TAKTP_HEADER + i * TAKTP_ENTRY;
        if (inside(e, size))
            put32(e + 24, takt_crc32c(0, at + get(e + 8, 8), (size_t)get(e + 16, 8)));
    }
    memcpy(at, TAKTP_MAGIC, 8);
    for (int i = 0; i < 8; i++)
        at[16 + i] = (uint8_t)((uint64_t)size >> 8 * i);
    put32(at + 28, takt_crc32c(0, at + TAKTP_HEADER, (size_t)count * TAKTP_ENTRY));
    put32(at + TAKTP_HEADER - 4, takt_crc32c(0, at, TAKTP_HEADER - 4));
}

static takt_status write(const takt_model *m, void **bytes, size_t *length)
{
    const takt_taktp_parts parts = {.graph = m->graph, .slots = m->slots};
    return takt_taktp_write(&parts, bytes, length);
}

static void again(takt_ctx *ctx, const takt_model *m)
{
    void *first = NULL, *second = NULL;
    size_t length = 0, other = 0;
    takt_model *back = NULL;
    if (write(m, &first, &length) == TAKT_OK) {
        const takt_status status = takt_model_load_memory(ctx, "again", first, length, NULL, &back);
        must(status == TAKT_OK || status == TAKT_ERR_MEMORY || status == TAKT_ERR_LIMIT);
        if (back != NULL && write(back, &second, &other) == TAKT_OK)
            must(length == other && memcmp(first, second, length) == 0);
    }
    takt_model_destroy(back);
    ctx->allocator.put(ctx->allocator.user, first, length);
    ctx->allocator.put(ctx->allocator.user, second, other);
}

static void tokenize(const takt_tokenizer *t, const uint8_t *text, size_t length)
{
    int32_t room[512];
    takt_token_ids ids = {room, 512, 0};
    if (takt_tokenize(t, (const char *)text, length, TAKT_TOKENIZE_ADD, &ids) == TAKT_OK)
        for (size_t i = 0; i < ids.count && i < ids.capacity; i++)
            must(room[i] >= 0 && (size_t)room[i] < takt_tokenizer_count(t));
}

/* Some bytes of the file are the text. */
static void load_tokens(takt_ctx *ctx, const uint8_t *data, size_t size)
{
    const takt_source source = {.ctx = ctx, .name = "fuzz", .bytes = data, .length = size};
    takt_span tokens;
    takt_tokenizer *t = NULL;
    if (takt_taktp_tokens(&source, &tokens) != TAKT_OK || tokens.length == 0)
        return;
    const takt_status status =
        takt_tokenizer_load_memory(ctx, "fuzz", tokens.at, tokens.length, &t);
    must((status == TAKT_OK) == (t != NULL));
    must(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (t != NULL)
        tokenize(t, data, size < 300 ? size : 300);
    takt_tokenizer_destroy(t);
}

static void load(const uint8_t *data, size_t size)
{
    const takt_config config = {
        .limits = {.bytes = 64 << 20, .tensor_bytes = 1 << 11, .nodes = 200, .trip_count = 100}};
    takt_ctx *ctx;
    takt_model *m;
    if (takt_ctx_create(&config, &ctx) != TAKT_OK)
        return;
    const takt_status status = takt_model_load_memory(ctx, "fuzz", data, size, NULL, &m);
    must((status == TAKT_OK) == (m != NULL));
    must(status == TAKT_OK || takt_last_error(ctx)[0] != '\0');
    if (m != NULL)
        again(ctx, m);
    takt_model_destroy(m);
    load_tokens(ctx, data, size);
    must(ctx->live_bytes == 0);
    takt_ctx_destroy(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 6 || memcmp(data, TAKTP_MAGIC, 6) != 0)
        return 0; /* other formats have their own targets */
    load(data, size);
    uint8_t *copy = size < TAKTP_HEADER ? NULL : malloc(size);
    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    seal(copy, size);
    load(copy, size);
    free(copy);
    return 0;
}
