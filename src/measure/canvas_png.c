/* canvas_png.c - a picture as a PNG file, compressed: repeats of the pixel before or of the row
 * above, in the fixed code of deflate (RFC 1951). */
#include <string.h>

#include "base/mem.h"
#include "measure/canvas.h"

enum { LEAST = 3, MOST = 258, FAR = 32768 };

/* ---- deflate ---- */

typedef struct bits {
    takt_text *to;
    uint32_t held;
    int count;
} bits;

static void put(bits *b, uint32_t value, int count)
{
    b->held |= value << b->count;
    for (b->count += count; b->count >= 8; b->count -= 8) {
        const char byte = (char)(b->held & 0xFF);
        takt_text_put(b->to, &byte, 1);
        b->held >>= 8;
    }
}

/* Codes are written from their highest bit on. */
static void put_code(bits *b, uint32_t code, int count)
{
    uint32_t reversed = 0;
    for (int i = 0; i < count; i++)
        reversed |= (code >> i & 1) << (count - 1 - i);
    put(b, reversed, count);
}

static void put_symbol(bits *b, uint32_t symbol)
{
    if (symbol < 144)
        put_code(b, 0x30 + symbol, 8);
    else if (symbol < 256)
        put_code(b, 0x190 + symbol - 144, 9);
    else if (symbol < 280)
        put_code(b, symbol - 256, 7);
    else
        put_code(b, 0xC0 + symbol - 280, 8);
}

/* A symbol is a range of lengths; extra bits select one. */
static void put_length(bits *b, uint32_t length)
{
    uint32_t base = LEAST, symbol = 257;
    int extra = 0;
    if (length == MOST) {
        put_symbol(b, 285);
        return;
    }
    while (length >= base + (1U << extra)) {
        base += 1U << extra;
        symbol++;
        if (symbol > 264)
            extra = (int)(symbol - 261) / 4;
    }
    put_symbol(b, symbol);
    put(b, length - base, extra);
}

static void put_distance(bits *b, uint32_t distance)
{
    uint32_t base = 1, code = 0;
    int extra = 0;
    while (distance >= base + (1U << extra)) {
        base += 1U << extra;
        code++;
        if (code > 3)
            extra = (int)(code - 2) / 2;
    }
    put_code(b, code, 5);
    put(b, distance - base, extra);
}

static size_t run_of(const uint8_t *bytes, size_t at, size_t length, size_t distance)
{
    size_t count = 0;
    if (distance == 0 || distance > at || distance > FAR)
        return 0;
    while (count < MOST && at + count < length && bytes[at + count] == bytes[at + count - distance])
        count++;
    return count;
}

/* A repeat of the pixel before, of the row above, or none. */
static void deflate(bits *b, const uint8_t *bytes, size_t length, size_t row)
{
    put(b, 1, 1); /* the last block */
    put(b, 1, 2); /* fixed codes */
    for (size_t at = 0; at < length;) {
        const size_t near = run_of(bytes, at, length, 3), far = run_of(bytes, at, length, row);
        const size_t count = far > near ? far : near;
        if (count < LEAST) {
            put_symbol(b, bytes[at++]);
            continue;
        }
        put_length(b, (uint32_t)count);
        put_distance(b, (uint32_t)(far > near ? row : 3));
        at += count;
    }
    put_symbol(b, 256);
    put(b, 0, 7); /* the last byte, full */
}

/* ---- the file ---- */

static void word(takt_text *text, uint32_t value)
{
    const char bytes[4] = {(char)(value >> 24), (char)(value >> 16), (char)(value >> 8),
                           (char)value};
    takt_text_put(text, bytes, 4);
}

static uint32_t crc(const char *bytes, size_t length)
{
    uint32_t c = 0xFFFFFFFF;
    for (size_t i = 0; i < length; i++) {
        c ^= (uint8_t)bytes[i];
        for (int bit = 0; bit < 8; bit++)
            c = c & 1 ? 0xEDB88320 ^ c >> 1 : c >> 1;
    }
    return ~c;
}

static uint32_t adler(const uint8_t *bytes, size_t length)
{
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < length; i++) {
        low = (low + bytes[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static void chunk(takt_text *text, const char *kind, const char *bytes, size_t length)
{
    word(text, (uint32_t)length);
    const size_t from = text->length;
    takt_text_put(text, kind, 4);
    takt_text_put(text, bytes, length);
    if (text->status == TAKT_OK)
        word(text, crc(text->at + from, text->length - from));
}

static void header(takt_text *text, const takt_canvas *c)
{
    const uint32_t w = (uint32_t)c->width, h = (uint32_t)c->height;
    const char bytes[13] = {(char)(w >> 24),
                            (char)(w >> 16),
                            (char)(w >> 8),
                            (char)w,
                            (char)(h >> 24),
                            (char)(h >> 16),
                            (char)(h >> 8),
                            (char)h,
                            8,
                            2,
                            0,
                            0,
                            0};
    chunk(text, "IHDR", bytes, sizeof bytes);
}

takt_status takt_canvas_png(takt_text *text, const takt_canvas *c)
{
    const size_t line = 3 * (size_t)c->width, row = line + 1, length = row * (size_t)c->height;
    void *block;
    takt_text packed;
    TAKT_TRY(takt_mem_zero(text->ctx, length, 1, "a picture", &block));
    uint8_t *bytes = block;
    for (int y = 0; y < c->height; y++) /* before each row a byte of 0: it is not filtered */
        memcpy(bytes + (size_t)y * row + 1, c->pixels + (size_t)y * line, line);
    takt_text_init(&packed, text->ctx);
    takt_text_put(&packed, "\x78\x01", 2);
    deflate(&(bits){.to = &packed}, bytes, length, row);
    word(&packed, adler(bytes, length));
    takt_text_put(text, "\x89PNG\r\n\x1a\n", 8);
    header(text, c);
    chunk(text, "IDAT", takt_text_get(&packed), packed.length);
    chunk(text, "IEND", "", 0);
    if (packed.status != TAKT_OK)
        text->status = packed.status;
    takt_text_deinit(&packed);
    takt_mem_put(text->ctx, block, length);
    return text->status;
}
