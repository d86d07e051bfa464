/* flat.c - flatbuffers over a bounded cursor. */
#include "io/tflite/flat.h"

#include <stdio.h>
#include <string.h>

takt_flat takt_flat_of(takt_ctx *ctx, const uint8_t *bytes, size_t length)
{
    enum { ALWAYS = 1 << 16, TIMES = 16 };
    return (takt_flat){.ctx = ctx,
                       .all = takt_cursor_of(bytes, length, 0),
                       .budget = ALWAYS + TIMES * (uint64_t)length};
}

takt_status takt_flat_fail(takt_flat *f, size_t at, const char *format, ...)
{
    char text[256];
    va_list args;
    if (f->status != TAKT_OK)
        return f->status;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)takt_fail(f->ctx, TAKT_E_TFLITE, "%s (offset %zu)", text, at);
    (void)takt_fail_hint(f->ctx, "the file is damaged, or was cut: copy or convert it again");
    f->status = takt_fail_offset(f->ctx, at);
    return f->status;
}

/* Buffers are not read with the rest of a file. */
static bool is_here(takt_flat *f, size_t at, size_t count)
{
    for (size_t i = 0; f->skim != NULL && i < f->skim->gap_count; i++)
        if (f->skim->gaps[i].first < at + count && at < f->skim->gaps[i].end) {
            (void)takt_flat_fail(f, at, "a part of the description lies within a buffer");
            return false;
        }
    return true;
}

/* `count` bytes at `at`, or NULL. */
static const uint8_t *bytes_at(takt_flat *f, size_t at, size_t count)
{
    takt_cursor c = f->all;
    if (f->status != TAKT_OK)
        return NULL;
    c.pos = at < c.end ? at : c.end;
    const uint8_t *p = takt_cursor_take(&c, count);
    if (p == NULL)
        (void)takt_flat_fail(f, at, "the file ends early: %zu bytes are missing",
                             count - takt_cursor_left(&c));
    return p != NULL && is_here(f, at, count) ? p : NULL;
}

static uint64_t number_at(takt_flat *f, size_t at, size_t bytes)
{
    const uint8_t *p = bytes_at(f, at, bytes);
    uint64_t value = 0;
    for (size_t i = 0; p != NULL && i < bytes; i++)
        value |= (uint64_t)p[i] << 8 * i;
    return value;
}

bool takt_flat_spend(takt_flat *f, size_t at, uint64_t count)
{
    if (f->status == TAKT_OK && count > f->budget)
        (void)takt_flat_fail(f, at, "parts of the file are shared too often");
    if (f->status != TAKT_OK)
        return false;
    f->budget -= count;
    return true;
}

/* ---- tables ---- */

static takt_flat_table table_at(takt_flat *f, size_t at)
{
    const int64_t back = (int32_t)(uint32_t)number_at(f, at, 4);
    const int64_t vtable = (int64_t)at - back;
    if (!takt_flat_spend(f, at, 1))
        return (takt_flat_table){0};
    if (vtable < 0 || (uint64_t)vtable > f->all.end) {
        (void)takt_flat_fail(f, at, "a table's layout lies outside the file");
        return (takt_flat_table){0};
    }
    const size_t fields = (size_t)number_at(f, (size_t)vtable, 2),
                 bytes = (size_t)number_at(f, (size_t)vtable + 2, 2);
    if (f->status == TAKT_OK && (fields < 4 || fields % 2 != 0 || bytes < 4))
        (void)takt_flat_fail(f, (size_t)vtable, "a table's layout has %zu bytes and the table %zu",
                             fields, bytes);
    if (bytes_at(f, (size_t)vtable, fields) == NULL || bytes_at(f, at, bytes) == NULL)
        return (takt_flat_table){0};
    return (takt_flat_table){
        .at = at, .fields = (size_t)vtable, .size_bytes = fields, .bytes = bytes};
}

/* Where the offset at `at` points to; 0 after a failure. */
static size_t follow(takt_flat *f, size_t at)
{
    const uint64_t distance = number_at(f, at, 4);
    if (f->status == TAKT_OK && (distance == 0 || distance > f->all.end - at))
        (void)takt_flat_fail(f, at, "an offset leads %llu bytes on, beyond the file",
                             (unsigned long long)distance);
    return f->status == TAKT_OK ? at + (size_t)distance : 0;
}

takt_flat_table takt_flat_root(takt_flat *f)
{
    const size_t at = follow(f, 0);
    return at != 0 ? table_at(f, at) : (takt_flat_table){0};
}

/* The position of a field of `bytes` bytes; 0: absent. */
static size_t field_at(takt_flat *f, const takt_flat_table *t, int field, size_t bytes)
{
    const size_t entry = 4 + 2 * (size_t)field;
    if (t->at == 0 || entry + 2 > t->size_bytes)
        return 0;
    const size_t offset = (size_t)number_at(f, t->fields + entry, 2);
    if (offset == 0 || f->status != TAKT_OK)
        return 0;
    if (offset < 4 || offset + bytes > t->bytes) {
        (void)takt_flat_fail(f, t->at, "field %d of a table lies outside of it", field);
        return 0;
    }
    return t->at + offset;
}

bool takt_flat_has(const takt_flat_table *t, int field)
{
    return t->at != 0 && 6 + 2 * (size_t)field <= t->size_bytes;
}

takt_flat_table takt_flat_child(takt_flat *f, const takt_flat_table *t, int field)
{
    const size_t at = field_at(f, t, field, 4), to = at != 0 ? follow(f, at) : 0;
    return to != 0 ? table_at(f, to) : (takt_flat_table){0};
}

/* ---- vectors ---- */

static takt_flat_vector vector_at(takt_flat *f, size_t at, size_t bytes)
{
    const uint64_t count = number_at(f, at, 4);
    if (f->status == TAKT_OK && (count > f->all.end / bytes || f->all.end - at - 4 < count * bytes))
        (void)takt_flat_fail(f, at, "a list of %llu entries of %zu bytes ends beyond the file",
                             (unsigned long long)count, bytes);
    if (f->status != TAKT_OK)
        return (takt_flat_vector){0};
    return (takt_flat_vector){at + 4, (size_t)count};
}

takt_flat_vector takt_flat_list(takt_flat *f, const takt_flat_table *t, int field, size_t bytes)
{
    const size_t at = field_at(f, t, field, 4), to = at != 0 ? follow(f, at) : 0;
    return to != 0 ? vector_at(f, to, bytes) : (takt_flat_vector){0};
}

takt_flat_table takt_flat_item(takt_flat *f, takt_flat_vector v, size_t index)
{
    const size_t to = index < v.count ? follow(f, v.at + 4 * index) : 0;
    return to != 0 ? table_at(f, to) : (takt_flat_table){0};
}

takt_span takt_flat_text(takt_flat *f, const takt_flat_table *t, int field)
{
    const takt_flat_vector v = takt_flat_list(f, t, field, 1);
    if (v.count == 0 || !takt_flat_spend(f, v.at, v.count / 8) || !is_here(f, v.at, v.count))
        return (takt_span){"", 0};
    return (takt_span){(const char *)f->all.base + v.at, v.count};
}

/* ---- numbers ---- */

static uint64_t field_number(takt_flat *f, const takt_flat_table *t, int field, size_t bytes,
                             uint64_t fallback)
{
    const size_t at = field_at(f, t, field, bytes);
    return at != 0 ? number_at(f, at, bytes) : fallback;
}

uint8_t takt_flat_u8(takt_flat *f, const takt_flat_table *t, int field, uint8_t fallback)
{
    return (uint8_t)field_number(f, t, field, 1, fallback);
}

int32_t takt_flat_i32(takt_flat *f, const takt_flat_table *t, int field, int32_t fallback)
{
    return (int32_t)(uint32_t)field_number(f, t, field, 4, (uint32_t)fallback);
}

uint64_t takt_flat_u64(takt_flat *f, const takt_flat_table *t, int field, uint64_t fallback)
{
    return field_number(f, t, field, 8, fallback);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float takt_flat_f32(takt_flat *f, const takt_flat_table *t, int field, float fallback)
{
    const size_t at = field_at(f, t, field, 4);
    return at != 0 ? float_of((uint32_t)number_at(f, at, 4)) : fallback;
}

static uint64_t element(takt_flat *f, takt_flat_vector v, size_t index, size_t bytes)
{
    return index < v.count && takt_flat_spend(f, v.at, 1)
               ? number_at(f, v.at + index * bytes, bytes)
               : 0;
}

uint8_t takt_flat_u8_at(takt_flat *f, takt_flat_vector v, size_t index)
{
    return (uint8_t)element(f, v, index, 1);
}

uint16_t takt_flat_u16_at(takt_flat *f, takt_flat_vector v, size_t index)
{
    return (uint16_t)element(f, v, index, 2);
}

int32_t takt_flat_i32_at(takt_flat *f, takt_flat_vector v, size_t index)
{
    return (int32_t)(uint32_t)element(f, v, index, 4);
}

int64_t takt_flat_i64_at(takt_flat *f, takt_flat_vector v, size_t index)
{
    return (int64_t)element(f, v, index, 8);
}

float takt_flat_f32_at(takt_flat *f, takt_flat_vector v, size_t index)
{
    return float_of((uint32_t)element(f, v, index, 4));
}
