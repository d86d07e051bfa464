/* external.c - weights in files next to the model. */
#include <string.h>

#include "io/onnx/payload.h"
#include "os/os.h"

typedef struct place {
    takt_span location, offset, length;
} place;

static takt_status find_place(takt_ctx *ctx, const takt_pb_tensor *t, place *p)
{
    for (size_t i = 0; i < t->external_count; i++) {
        const takt_pb_entry *e = &t->external[i];
        takt_span *to = takt_span_is(e->key, "location") ? &p->location
                        : takt_span_is(e->key, "offset") ? &p->offset
                        : takt_span_is(e->key, "length") ? &p->length
                                                         : NULL;
        if (to == NULL && takt_span_is(e->key, "checksum"))
            continue;
        if (to == NULL)
            return takt_wire_fail(ctx, e->at, "external data has an unknown key %.*s",
                                  (int)e->key.length, e->key.at);
        if (to->at != NULL)
            return takt_wire_fail(ctx, e->at, "external data has the key %.*s twice",
                                  (int)e->key.length, e->key.at);
        *to = e->value;
    }
    return TAKT_OK;
}

static bool number(takt_span text, uint64_t *out)
{
    uint64_t v = 0;
    if (text.length == 0 || text.length > 19)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(text.at[i] - '0');
    }
    *out = v;
    return true;
}

static takt_status refuse(takt_ctx *ctx, const takt_pb_tensor *t, const char *why)
{
    (void)takt_fail(ctx, TAKT_E_ONNX_EXTERNAL, "external data of tensor %.*s: %s",
                    (int)t->name.length, t->name.at, why);
    return takt_fail_offset(ctx, t->at);
}

static takt_status read_part(takt_ctx *ctx, const takt_pb_tensor *t, takt_file *file,
                             uint64_t offset, void *to, size_t bytes)
{
    uint64_t size;
    size_t done = 0;
    if (ctx->files.size(ctx->files.user, file, &size) != 0)
        return refuse(ctx, t, "the file's size cannot be found out");
    if (offset > size || bytes > size - offset)
        return refuse(ctx, t, "it reaches beyond the end of the file");
    if (ctx->files.read(ctx->files.user, file, offset, to, bytes, &done) != 0 || done != bytes)
        return refuse(ctx, t, "reading failed");
    return TAKT_OK;
}

takt_status takt_onnx_external(const takt_source *source, const takt_pb_tensor *t, void *to,
                               size_t bytes)
{
    takt_ctx *ctx = source->ctx;
    place p = {0};
    uint64_t offset = 0, length = bytes;
    char name[512];
    TAKT_TRY(find_place(ctx, t, &p));
    if (p.location.length == 0 || p.location.length >= sizeof name ||
        memchr(p.location.at, 0, p.location.length) != NULL)
        return refuse(ctx, t, "the location is missing, too long, or holds a zero byte");
    if (p.offset.at != NULL && !number(p.offset, &offset))
        return refuse(ctx, t, "the offset is not a number");
    if (p.length.at != NULL && !number(p.length, &length))
        return refuse(ctx, t, "the length is not a number");
    if (length != bytes)
        return refuse(ctx, t, "the length is not that of the type and shape");
    if (source->folder == NULL)
        return refuse(ctx, t, "a model in memory has no folder where it could lie");
    memcpy(name, p.location.at, p.location.length);
    name[p.location.length] = '\0';
    takt_file *file;
    const int error =
        ctx->files.open_beneath(ctx->files.user, source->folder, name, source->allow_links, &file);
    if (error != 0) {
        char reason[128];
        takt_os_reason(error, reason, sizeof reason);
        (void)takt_fail(ctx, TAKT_E_ONNX_EXTERNAL, "cannot open %s beneath %s: %s", name,
                        source->folder, reason);
        return takt_fail_hint(ctx, "--allow-links admits files reached through links");
    }
    const takt_status status = read_part(ctx, t, file, offset, to, bytes);
    ctx->files.close(ctx->files.user, file);
    return status;
}
