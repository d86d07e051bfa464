/* npz_write.c - writes .npz archives: ZIP files whose members are .npy files, stored as they are.
 */
#include <string.h>

#include "base/mem.h"
#include "io/npy/npy.h"
#include "io/read.h"

enum {
    LOCAL = 0x04034b50,
    CENTRAL = 0x02014b50,
    END = 0x06054b50,
    VERSION = 20,
    DATE = 0x21, /* 1980-01-01, so that equal arrays give equal files */
};

/* The CRC of ZIP, reflected polynomial 0xEDB88320, four bits at a time. */
uint32_t takt_zip_checksum(uint32_t crc, const uint8_t *bytes, size_t length)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    crc = ~crc;
    for (size_t i = 0; i < length; i++) {
        crc = table[(crc ^ bytes[i]) & 15] ^ (crc >> 4);
        crc = table[(crc ^ (bytes[i] >> 4)) & 15] ^ (crc >> 4);
    }
    return ~crc;
}

typedef struct entry {
    takt_span name;
    uint32_t crc, size, local;
} entry;

static void put(takt_text *text, uint32_t value, size_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        takt_text_put(text, &(char){(char)(value & 0xFF)}, 1);
}

/* Fields shared by local headers and directory entries, from "version needed" on. */
static void put_common(takt_text *text, const entry *e)
{
    put(text, VERSION, 2);
    put(text, 0, 4); /* flags; stored */
    put(text, 0, 2);
    put(text, DATE, 2);
    put(text, e->crc, 4);
    put(text, e->size, 4);
    put(text, e->size, 4);
    put(text, (uint32_t)e->name.length + 4, 2);
    put(text, 0, 2);
}

static void put_name(takt_text *text, const entry *e)
{
    takt_text_put(text, e->name.at, e->name.length);
    takt_text_put(text, ".npy", 4);
}

static takt_status put_member(takt_ctx *ctx, takt_text *text, const takt_tensor_view *v, entry *e)
{
    takt_text head;
    size_t bytes = 0;
    takt_text_init(&head, ctx);
    takt_status status = takt_npy_head(ctx, v, &head);
    if (status == TAKT_OK && takt_npy_bytes(v, &bytes) && bytes > 0 && v->data == NULL)
        status = takt_fail(ctx, TAKT_E_ARGUMENT, "a tensor without data cannot be written");
    if (status == TAKT_OK && (!takt_npy_bytes(v, &bytes) || bytes > UINT32_MAX - head.length ||
                              text->length > UINT32_MAX || e->name.length > 1024))
        status = takt_fail(ctx, TAKT_E_OVERFLOW,
                           "an .npz archive holds at most 4 GiB: write .npy files");
    if (status == TAKT_OK) {
        e->local = (uint32_t)text->length;
        e->size = (uint32_t)(head.length + bytes);
        e->crc = takt_zip_checksum(takt_zip_checksum(0, (const uint8_t *)head.at, head.length),
                                   v->data, bytes);
        put(text, LOCAL, 4);
        put_common(text, e);
        put_name(text, e);
        takt_text_put(text, head.at, head.length);
        takt_text_put(text, v->data, bytes);
        status = text->status;
    }
    takt_text_deinit(&head);
    return status;
}

static void put_directory(takt_text *text, const entry *entries, size_t count)
{
    const size_t from = text->length;
    for (size_t i = 0; i < count; i++) {
        put(text, CENTRAL, 4);
        put(text, VERSION, 2);
        put_common(text, &entries[i]);
        put(text, 0, 2); /* comment */
        put(text, 0, 4); /* disk; attributes */
        put(text, 0, 4);
        put(text, entries[i].local, 4);
        put_name(text, &entries[i]);
    }
    const size_t size = text->length - from;
    put(text, END, 4);
    put(text, 0, 4);
    put(text, (uint32_t)count, 2);
    put(text, (uint32_t)count, 2);
    put(text, (uint32_t)size, 4);
    put(text, (uint32_t)from, 4);
    put(text, 0, 2);
}

takt_status takt_npz_save(takt_ctx *ctx, const char *path, const char *const *names,
                          const takt_tensor_view *views, size_t count)
{
    takt_text text;
    void *block;
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, path);
    if (count > UINT16_MAX)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_npz_save: more than 65535 arrays");
    if (count > 0) {
        TAKT_NEED(ctx, names);
        TAKT_NEED(ctx, views);
    }
    for (size_t i = 0; i < count; i++)
        TAKT_NEED(ctx, names[i]);
    TAKT_TRY(takt_mem_zero(ctx, count, sizeof(entry), "archive", &block));
    entry *entries = block;
    takt_status status = TAKT_OK;
    takt_text_init(&text, ctx);
    for (size_t i = 0; i < count && status == TAKT_OK; i++) {
        entries[i].name = takt_span_of(names[i]);
        status = put_member(ctx, &text, &views[i], &entries[i]);
    }
    if (status == TAKT_OK) {
        put_directory(&text, entries, count);
        status = text.length > UINT32_MAX
                     ? takt_fail(ctx, TAKT_E_OVERFLOW, "an .npz archive holds at most 4 GiB")
                     : takt_write_text(ctx, path, &text);
    }
    takt_text_deinit(&text);
    takt_mem_put(ctx, entries, count * sizeof(entry));
    return status;
}
