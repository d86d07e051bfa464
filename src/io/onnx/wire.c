/* wire.c - reads fields of protobuf messages. */
#include "io/onnx/wire.h"

#include <stdarg.h>
#include <stdio.h>

takt_status takt_wire_fail(takt_ctx *ctx, uint64_t at, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)takt_fail(ctx, TAKT_E_ONNX, "%s", text);
    return takt_fail_offset(ctx, at);
}

/* Truncated files are nearly always incomplete downloads. */
static takt_status cut(takt_ctx *ctx, takt_status status)
{
    (void)takt_fail_hint(ctx, "the file is cut off or damaged: compare its size with the "
                              "original's, and fetch it again");
    return status;
}

static takt_status read_body(takt_ctx *ctx, takt_cursor *c, takt_field *f)
{
    switch (f->wire) {
    case TAKT_WIRE_VARINT: f->value = takt_cursor_varint(c); break;
    case TAKT_WIRE_64: f->value = takt_cursor_u64le(c); break;
    case TAKT_WIRE_32: f->value = takt_cursor_u32le(c); break;
    case TAKT_WIRE_BYTES: {
        const uint64_t length = takt_cursor_varint(c);
        if (c->failed)
            break;
        if (length > takt_cursor_left(c))
            return cut(
                ctx, takt_wire_fail(ctx, f->at,
                                    "field %u has %llu bytes, but only %zu are left in its message",
                                    f->number, (unsigned long long)length, takt_cursor_left(c)));
        f->body = takt_cursor_sub(c, (size_t)length);
        break;
    }
    default:
        return takt_wire_fail(ctx, f->at, "field %u has wire type %d, which ONNX does not use",
                              f->number, (int)f->wire);
    }
    if (c->failed)
        return cut(ctx, takt_wire_fail(ctx, f->at, "field %u is cut off or malformed", f->number));
    return TAKT_OK;
}

takt_status takt_wire_next(takt_ctx *ctx, takt_cursor *c, takt_field *field, bool *more)
{
    *field = (takt_field){.at = takt_cursor_offset(c)};
    *more = takt_cursor_left(c) > 0;
    if (!*more)
        return TAKT_OK;
    const uint64_t tag = takt_cursor_varint(c);
    if (c->failed)
        return cut(ctx,
                   takt_wire_fail(ctx, field->at, "the tag of a field is cut off or malformed"));
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF)
        return takt_wire_fail(ctx, field->at, "a field has number %llu, which is impossible",
                              (unsigned long long)(tag >> 3));
    field->number = (uint32_t)(tag >> 3);
    field->wire = (takt_wire)(tag & 7);
    return read_body(ctx, c, field);
}

static const char *wire_name(takt_wire wire)
{
    return wire == TAKT_WIRE_VARINT  ? "a varint"
           : wire == TAKT_WIRE_BYTES ? "bytes"
           : wire == TAKT_WIRE_32    ? "32 bits"
                                     : "64 bits";
}

takt_status takt_wire_expect(takt_ctx *ctx, const takt_field *f, takt_wire wire, const char *what)
{
    if (f->wire == wire)
        return TAKT_OK;
    return takt_wire_fail(ctx, f->at, "%s is stored as %s instead of %s", what, wire_name(f->wire),
                          wire_name(wire));
}

static size_t width(takt_wire wire)
{
    return wire == TAKT_WIRE_32 ? 4 : 8;
}

takt_status takt_wire_count(takt_ctx *ctx, const takt_field *f, takt_wire wire, const char *what,
                            size_t *count)
{
    *count = 1;
    if (f->wire == wire)
        return TAKT_OK;
    TAKT_TRY(takt_wire_expect(ctx, f, TAKT_WIRE_BYTES, what));
    takt_cursor c = f->body;
    const size_t bytes = takt_cursor_left(&c);
    if (wire != TAKT_WIRE_VARINT) {
        *count = bytes / width(wire);
        if (bytes % width(wire) != 0)
            return takt_wire_fail(ctx, f->at, "%s has %zu bytes, which is not a multiple of %zu",
                                  what, bytes, width(wire));
        return TAKT_OK;
    }
    *count = 0;
    const uint8_t *at = takt_cursor_take(&c, bytes);
    for (size_t i = 0; i < bytes && at != NULL; i++)
        *count += at[i] < 0x80; /* the last byte of each varint */
    return TAKT_OK;
}

takt_status takt_wire_numbers(takt_ctx *ctx, const takt_field *f, takt_wire wire, uint64_t *out)
{
    if (f->wire != TAKT_WIRE_BYTES) {
        *out = f->value;
        return TAKT_OK;
    }
    takt_cursor c = f->body;
    while (takt_cursor_left(&c) > 0) {
        const uint64_t v =
            wire == TAKT_WIRE_VARINT ? takt_cursor_varint(&c) : takt_cursor_u32le(&c);
        if (c.failed)
            return takt_wire_fail(ctx, takt_cursor_offset(&c), "a packed number is malformed");
        *out++ = v;
    }
    return TAKT_OK;
}

takt_span takt_wire_span(const takt_field *f)
{
    takt_cursor c = f->body;
    const size_t length = takt_cursor_left(&c);
    return (takt_span){(const char *)takt_cursor_take(&c, length), length};
}
