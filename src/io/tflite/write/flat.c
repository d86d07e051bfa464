/* flat.c - writes flatbuffers: little-endian, every number at a multiple of its size. */
#include "io/tflite/write/flat.h"

void takt_fb_align(takt_text *to, size_t size)
{
    static const char zeros[64];
    takt_text_put(to, zeros, (size - to->length % size) % size);
}

void takt_fb_put(takt_text *to, uint64_t bits, size_t bytes)
{
    char raw[8];
    for (size_t i = 0; i < bytes; i++)
        raw[i] = (char)(bits >> (8 * i) & 255);
    takt_text_put(to, raw, bytes);
}

static void set(takt_text *to, size_t place, uint64_t bits, size_t bytes)
{
    if (to->status != TAKT_OK || place + bytes > to->length)
        return;
    for (size_t i = 0; i < bytes; i++)
        to->at[place + i] = (char)(bits >> (8 * i) & 255);
}

void takt_fb_link(takt_text *to, size_t place, size_t at)
{
    set(to, place, at - place, 4);
}

static size_t bytes_of(const takt_fb_field *f)
{
    return f->bytes > 0 ? f->bytes : 4;
}

/* Offsets of the fields in their table, wide ones first; returns the bytes of the table. */
static size_t lay_out(const takt_fb_field *fields, size_t count, size_t *at)
{
    size_t end = 4;
    for (size_t size = 8; size > 0; size /= 2) {
        for (size_t i = 0; i < count; i++) {
            if (bytes_of(&fields[i]) != size)
                continue;
            end += (size - end % size) % size;
            at[i] = end;
            end += size;
        }
    }
    return end;
}

size_t takt_fb_table(takt_text *to, takt_fb_field *fields, size_t count)
{
    size_t at[TAKT_FB_FIELDS], ids = 0;
    const size_t bytes = lay_out(fields, count, at);
    for (size_t i = 0; i < count; i++)
        ids = (size_t)fields[i].id + 1 > ids ? (size_t)fields[i].id + 1 : ids;
    takt_fb_align(to, 8);
    const size_t vtable = to->length;
    takt_fb_put(to, 4 + 2 * ids, 2);
    takt_fb_put(to, bytes, 2);
    for (size_t id = 0; id < ids; id++) {
        size_t place = 0;
        for (size_t i = 0; i < count; i++)
            place = (size_t)fields[i].id == id ? at[i] : place;
        takt_fb_put(to, place, 2);
    }
    takt_fb_align(to, 8);
    const size_t start = to->length;
    takt_fb_put(to, start - vtable, 4);
    for (size_t i = 4; i < bytes; i++)
        takt_fb_put(to, 0, 1);
    for (size_t i = 0; i < count; i++) {
        fields[i].place = start + at[i];
        if (fields[i].bytes > 0)
            set(to, fields[i].place, fields[i].bits, fields[i].bytes);
    }
    return start;
}

size_t takt_fb_numbers(takt_text *to, const void *from, size_t count, size_t size, size_t align)
{
    static const char zeros[64];
    align = align > 4 ? align : 4;
    takt_text_put(to, zeros, (align - (to->length + 4) % align) % align);
    const size_t start = to->length;
    takt_fb_put(to, count, 4);
    if (count > 0)
        takt_text_put(to, from, count * size);
    return start;
}

size_t takt_fb_string(takt_text *to, const char *text)
{
    const takt_span span = takt_span_of(text);
    const size_t start = takt_fb_numbers(to, span.at, span.length, 1, 4);
    takt_fb_put(to, 0, 1);
    return start;
}

size_t takt_fb_references(takt_text *to, size_t count)
{
    takt_fb_align(to, 4);
    const size_t start = to->length;
    takt_fb_put(to, count, 4);
    for (size_t i = 0; i < count; i++)
        takt_fb_put(to, 0, 4);
    return start;
}
