/* inflate.c - decompression by zlib, which is loaded on demand. */
#include "io/inflate.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "os/library.h"

/* zlib's z_stream, as its manual describes it. */
typedef struct stream {
    const uint8_t *next_in;
    unsigned avail_in;
    unsigned long total_in;
    uint8_t *next_out;
    unsigned avail_out;
    unsigned long total_out;
    const char *message;
    void *state;
    void *(*get)(void *, unsigned, unsigned);
    void (*put)(void *, void *);
    void *user;
    int data_type;
    unsigned long adler, reserved;
} stream;

enum { WINDOW = 15, GZIP = 16, END = 1, STEP = 1 << 20 };

typedef struct zlib {
    takt_library *library;
    int (*begin)(stream *s, int window, const char *version, int size);
    int (*inflate)(stream *s, int flush);
    int (*end)(stream *s);
    const char *(*version)(void);
} zlib;

static bool open_zlib(zlib *z)
{
    z->library = takt_library_open("libz.so.1");
    if (z->library == NULL)
        return false;
    z->begin =
        (int (*)(stream *, int, const char *, int))takt_library_find(z->library, "inflateInit2_");
    z->inflate = (int (*)(stream *, int))takt_library_find(z->library, "inflate");
    z->end = (int (*)(stream *))takt_library_find(z->library, "inflateEnd");
    z->version = (const char *(*)(void))takt_library_find(z->library, "zlibVersion");
    return z->begin != NULL && z->inflate != NULL && z->end != NULL && z->version != NULL;
}

bool takt_is_gzip(const uint8_t *bytes, size_t length)
{
    return length > 18 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8;
}

typedef struct output {
    takt_ctx *ctx;
    uint8_t *at;
    size_t length, room;
} output;

static takt_status grow(output *o, const takt_packed *from)
{
    void *block;
    const uint64_t limit = o->ctx->limits.file_bytes;
    const bool is_told = from->most > 0 && from->most < limit;
    const size_t most = is_told ? from->most : limit < SIZE_MAX ? (size_t)limit : SIZE_MAX - 1;
    const size_t more = o->room == 0 ? STEP : 2 * o->room, room = more > most ? most + 1 : more;
    if (o->room > most)
        return takt_fail(o->ctx, from->error, "%s holds more than %zu bytes, %s", from->name, most,
                         is_told ? "the size in its header" : "the limit");
    TAKT_TRY(takt_mem_get(o->ctx, room, "decompressed data", &block));
    if (o->length > 0)
        memcpy(block, o->at, o->length);
    takt_mem_put(o->ctx, o->at, o->room);
    o->at = block;
    o->room = room;
    return TAKT_OK;
}

static takt_status inflate_all(const zlib *z, stream *s, const takt_packed *from, output *o)
{
    size_t used = 0;
    int code = 0;
    while (code != END) {
        if (o->length == o->room)
            TAKT_TRY(grow(o, from));
        const size_t room = o->room - o->length, left = from->length - used;
        s->next_in = from->bytes + used;
        s->avail_in = (unsigned)(left < STEP ? left : STEP);
        s->next_out = o->at + o->length;
        s->avail_out = (unsigned)(room < STEP ? room : STEP);
        const unsigned in = s->avail_in, out = s->avail_out;
        code = z->inflate(s, 0);
        used += in - s->avail_in;
        o->length += out - s->avail_out;
        if ((code != 0 && code != END) || (code == 0 && in == s->avail_in && out == s->avail_out)) {
            takt_fail(o->ctx, from->error, "%s is damaged: %s at byte %zu", from->name,
                      s->message != NULL ? s->message : "it ends too early", used);
            return takt_fail_hint(o->ctx, "copy or download it again");
        }
    }
    return TAKT_OK;
}

takt_status takt_inflate(takt_ctx *ctx, const takt_packed *from, void **out, size_t *out_length)
{
    zlib z = {0};
    stream s = {0};
    output o = {.ctx = ctx};
    takt_status status = TAKT_OK;
    if (!open_zlib(&z) || z.begin(&s, from->is_raw ? -WINDOW : WINDOW + GZIP,
                                  z.version != NULL ? z.version() : "", (int)sizeof s) != 0) {
        takt_library_close(z.library);
        takt_fail(ctx, from->error, "%s is compressed, and libz.so.1 cannot be loaded", from->name);
        return takt_fail_hint(ctx, "decompress it, or install zlib1g");
    }
    status = inflate_all(&z, &s, from, &o);
    z.end(&s);
    takt_library_close(z.library);
    void *block = NULL;
    if (status == TAKT_OK) /* no more memory than needed */
        status = takt_mem_get(ctx, o.length > 0 ? o.length : 1, "decompressed data", &block);
    if (status == TAKT_OK) {
        if (o.length > 0)
            memcpy(block, o.at, o.length);
        *out = block;
        *out_length = o.length;
    }
    takt_mem_put(ctx, o.at, o.room);
    return status;
}

takt_status takt_gunzip(takt_ctx *ctx, const char *path, const uint8_t *bytes, size_t length,
                        void **out, size_t *out_length)
{
    const takt_packed from = {
        .name = path, .bytes = bytes, .length = length, .error = TAKT_E_TRAIN_DATA};
    return takt_inflate(ctx, &from, out, out_length);
}
