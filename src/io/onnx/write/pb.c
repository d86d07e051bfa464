/* pb.c - protobuf's wire format, written. */
#include "io/onnx/write/pb.h"

#include <string.h>

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

void takt_pb_put_varint(takt_text *to, uint64_t value)
{
    char raw[10];
    size_t n = 0;
    for (; value > 127; value >>= 7)
        raw[n++] = (char)(value | 128);
    raw[n++] = (char)value;
    takt_text_put(to, raw, n);
}

static void tag(takt_text *to, uint32_t field, uint32_t wire)
{
    takt_pb_put_varint(to, (uint64_t)field << 3 | wire);
}

void takt_pb_put_int(takt_text *to, uint32_t field, int64_t value)
{
    tag(to, field, VARINT);
    takt_pb_put_varint(to, (uint64_t)value);
}

void takt_pb_put_float(takt_text *to, uint32_t field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const char raw[4] = {(char)bits, (char)(bits >> 8), (char)(bits >> 16), (char)(bits >> 24)};
    tag(to, field, FIXED32);
    takt_text_put(to, raw, sizeof raw);
}

void takt_pb_put_head(takt_text *to, uint32_t field, size_t length)
{
    tag(to, field, BYTES);
    takt_pb_put_varint(to, length);
}

void takt_pb_put_bytes(takt_text *to, uint32_t field, const void *bytes, size_t length)
{
    takt_pb_put_head(to, field, length);
    takt_text_put(to, bytes, length);
}

void takt_pb_put_string(takt_text *to, uint32_t field, const char *text)
{
    takt_pb_put_bytes(to, field, text, strlen(text));
}

void takt_pb_put_message(takt_text *to, uint32_t field, takt_text *body)
{
    takt_pb_put_bytes(to, field, takt_text_get(body), body->length);
    if (body->status != TAKT_OK)
        to->status = body->status;
    body->length = 0;
}

void takt_pb_put_entry(takt_text *to, uint32_t field, const char *key, const char *value)
{
    takt_text body;
    takt_text_init(&body, to->ctx);
    takt_pb_put_string(&body, 1, key);
    takt_pb_put_string(&body, 2, value);
    takt_pb_put_message(to, field, &body);
    takt_text_deinit(&body);
}
