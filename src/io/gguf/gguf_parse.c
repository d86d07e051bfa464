/* gguf_parse.c - reads the header of a GGUF file, strictly: counts are checked against the bytes
 * that are left before anything is allocated for them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "base/size.h"
#include "base/utf8.h"
#include "io/gguf/gguf.h"

enum { NAME_MAX_BYTES = 64, KEY_LEAST = 14, TENSOR_LEAST = 33, ALIGNMENT_MAX = 1 << 16 };

typedef struct reader {
    takt_arena *arena;
    takt_gguf *g;
    takt_cursor c;
    size_t length; /* of the file; the available bytes may end earlier */
} reader;

static const uint8_t widths[TAKT_GGUF_KINDS] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

takt_status takt_gguf_fail(const takt_gguf *g, takt_error_id id, uint64_t offset,
                           const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)takt_fail(g->ctx, id, "%s: %s", g->file, text);
    if (id == TAKT_E_GGUF)
        (void)takt_fail_hint(g->ctx,
                             "the file may be incomplete: compare its size or checksum with "
                             "those of its source");
    else if (id == TAKT_E_GGUF_MODEL || id == TAKT_E_TOKENIZER)
        (void)takt_fail_hint(g->ctx, TAKT_GGUF_HINT);
    const bool has_place = offset > 0 || id == TAKT_E_GGUF;
    return has_place ? takt_fail_offset(g->ctx, offset) : g->ctx->error.status;
}

#define REFUSE(r, offset, ...) takt_gguf_fail((r)->g, TAKT_E_GGUF, (offset), __VA_ARGS__)

/* The available bytes end inside the header: either more can be read, or the file is truncated. */
static takt_status cut(reader *r)
{
    if (r->c.end < r->length) {
        r->g->is_cut = true;
        return TAKT_OK;
    }
    return REFUSE(r, takt_cursor_offset(&r->c), "the file ends within the header");
}

static bool is_over(const reader *r)
{
    return r->c.failed || r->g->is_cut;
}

/* Bytes of the file after the cursor, whether read or not. */
static size_t left(const reader *r)
{
    return r->length - (r->c.failed ? r->length : r->c.pos);
}

static uint64_t wide(reader *r)
{
    return takt_cursor_u64le(&r->c);
}

static takt_status read_span(reader *r, takt_span *out)
{
    const uint64_t at = takt_cursor_offset(&r->c), length = wide(r);
    *out = (takt_span){"", 0};
    if (r->c.failed)
        return cut(r);
    if (length > left(r))
        return REFUSE(r, at, "a text of %llu bytes is longer than the file",
                      (unsigned long long)length);
    const uint8_t *bytes = takt_cursor_take(&r->c, (size_t)length);
    if (bytes == NULL)
        return cut(r);
    *out = (takt_span){(const char *)bytes, (size_t)length};
    return TAKT_OK;
}

/* A name as a terminated copy: UTF-8 without NUL. */
static takt_status read_name(reader *r, size_t most, const char *what, const char **name)
{
    const uint64_t at = takt_cursor_offset(&r->c);
    takt_span text;
    *name = "";
    TAKT_TRY(read_span(r, &text));
    if (is_over(r))
        return TAKT_OK;
    if (text.length == 0 || text.length > most)
        return REFUSE(r, at, "%s has %zu bytes; 1 to %zu are allowed", what, text.length, most);
    if (memchr(text.at, 0, text.length) != NULL ||
        takt_utf8_check(text.at, text.length) < text.length)
        return REFUSE(r, at, "%s is not valid UTF-8, or holds a NUL", what);
    *name = takt_arena_text(r->arena, text.at, text.length);
    return *name != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

/* ---- metadata ---- */

static takt_status read_texts(reader *r, takt_gguf_value *v)
{
    takt_span *texts = takt_arena_array(r->arena, v->count, sizeof *texts);
    if (texts == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < v->count && !is_over(r); i++)
        TAKT_TRY(read_span(r, &texts[i]));
    v->texts = texts;
    return TAKT_OK;
}

static takt_status check_bools(reader *r, const takt_gguf_value *v)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->bytes[i] > 1)
            return REFUSE(r, v->offset + i, "%s: a bool is neither 0 nor 1", v->key);
    return TAKT_OK;
}

static takt_status read_elements(reader *r, takt_gguf_value *v)
{
    v->offset = takt_cursor_offset(&r->c);
    if (v->count > left(r) / widths[v->kind])
        return REFUSE(r, v->offset, "%s has %zu elements, more than the file has room for", v->key,
                      v->count);
    if (v->kind == TAKT_GGUF_STRING)
        return read_texts(r, v);
    v->bytes = takt_cursor_take(&r->c, v->count * widths[v->kind]);
    if (v->bytes == NULL)
        return cut(r);
    return v->kind == TAKT_GGUF_BOOL ? check_bools(r, v) : TAKT_OK;
}

static takt_status read_value(reader *r, takt_gguf_value *v)
{
    uint64_t at = takt_cursor_offset(&r->c);
    uint32_t kind = takt_cursor_u32le(&r->c);
    uint64_t count = 1;
    if (!r->c.failed && kind == TAKT_GGUF_ARRAY) {
        at = takt_cursor_offset(&r->c);
        kind = takt_cursor_u32le(&r->c);
        count = wide(r);
        v->is_array = true;
        if (!r->c.failed && kind == TAKT_GGUF_ARRAY)
            return REFUSE(r, at, "%s is an array of arrays", v->key);
    }
    if (r->c.failed)
        return cut(r);
    if (kind >= TAKT_GGUF_KINDS)
        return REFUSE(r, at, "%s has a value of the unknown type %u", v->key, kind);
    if (count > SIZE_MAX)
        return REFUSE(r, at, "%s has too many elements", v->key);
    v->kind = (takt_gguf_kind)kind;
    v->count = (size_t)count;
    return read_elements(r, v);
}

static takt_status read_values(reader *r, uint64_t count)
{
    takt_gguf *g = r->g;
    if (count > left(r) / KEY_LEAST)
        return REFUSE(r, 16, "%llu keys are more than the file has room for",
                      (unsigned long long)count);
    g->values = takt_arena_array(r->arena, (size_t)count, sizeof *g->values);
    g->key_spans = takt_arena_array(r->arena, (size_t)count, sizeof *g->key_spans);
    if (g->values == NULL || g->key_spans == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_spans_init(&g->keys, r->arena, g->key_spans, (size_t)count));
    for (size_t i = 0; i < count && !is_over(r); i++) {
        const uint64_t at = takt_cursor_offset(&r->c);
        takt_gguf_value *v = &g->values[i];
        TAKT_TRY(read_name(r, (size_t)g->ctx->limits.name_bytes, "a key", &v->key));
        if (is_over(r))
            break;
        g->key_spans[i] = takt_span_of(v->key);
        if (!takt_spans_add(&g->keys, (uint32_t)i))
            return REFUSE(r, at, "the key %s is there twice", v->key);
        TAKT_TRY(read_value(r, v));
        g->value_count = i + 1;
    }
    return TAKT_OK;
}

static takt_status find_alignment(reader *r)
{
    takt_gguf *g = r->g;
    int64_t alignment = 32;
    const takt_gguf_value *v = takt_gguf_find(g, "general.alignment");
    if (v != NULL && (v->is_array || v->kind != TAKT_GGUF_U32))
        return REFUSE(r, v->offset, "general.alignment is not a 32-bit number");
    if (v != NULL)
        (void)takt_gguf_integer(v, 0, &alignment);
    if (alignment < 1 || alignment > ALIGNMENT_MAX || (alignment & (alignment - 1)) != 0)
        return REFUSE(r, v != NULL ? v->offset : 0,
                      "general.alignment is %lld; it must be a power of two up to %d",
                      (long long)alignment, ALIGNMENT_MAX);
    g->alignment = (uint64_t)alignment;
    return TAKT_OK;
}

/* ---- tensors ---- */

static takt_status read_dims(reader *r, takt_gguf_tensor *t)
{
    const uint64_t at = takt_cursor_offset(&r->c);
    const uint32_t rank = takt_cursor_u32le(&r->c);
    if (r->c.failed)
        return cut(r);
    if (rank < 1 || rank > 4)
        return REFUSE(r, at, "%s has %u dimensions; 1 to 4 are allowed", t->name, rank);
    t->rank = (int)rank;
    t->count = 1;
    for (uint32_t d = 0; d < rank; d++) {
        const uint64_t size = wide(r);
        if (r->c.failed)
            return cut(r);
        if (size < 1 || size > INT64_MAX || !takt_size_mul(t->count, (size_t)size, &t->count))
            return REFUSE(r, at + 4 + 8 * (uint64_t)d, "%s has an impossible size", t->name);
        t->dims[rank - 1 - d] = (int64_t)size;
    }
    return TAKT_OK;
}

static takt_status read_type(reader *r, takt_gguf_tensor *t)
{
    const uint64_t at = takt_cursor_offset(&r->c);
    const uint32_t number = takt_cursor_u32le(&r->c);
    if (r->c.failed)
        return cut(r);
    t->type = takt_gguf_type_of(number);
    if (t->type == NULL)
        return REFUSE(r, at, "%s has the unknown or removed type %u", t->name, number);
    if (t->dims[t->rank - 1] % t->type->elements != 0)
        return REFUSE(r, at, "%s has rows of %lld elements, which are not whole blocks of %u (%s)",
                      t->name, (long long)t->dims[t->rank - 1], t->type->elements, t->type->name);
    if (!takt_size_mul(t->count / t->type->elements, t->type->bytes, &t->bytes) ||
        t->bytes > r->g->ctx->limits.tensor_bytes)
        return REFUSE(r, at, "%s is too large", t->name);
    return TAKT_OK;
}

static takt_status read_tensor(reader *r, takt_gguf_tensor *t)
{
    TAKT_TRY(read_name(r, NAME_MAX_BYTES - 1, "the name of a tensor", &t->name));
    if (!is_over(r))
        TAKT_TRY(read_dims(r, t));
    if (!is_over(r))
        TAKT_TRY(read_type(r, t));
    t->offset = is_over(r) ? 0 : wide(r);
    return r->c.failed && !r->g->is_cut ? cut(r) : TAKT_OK;
}

static takt_status read_tensors(reader *r, uint64_t count)
{
    takt_gguf *g = r->g;
    if (count > left(r) / TENSOR_LEAST)
        return REFUSE(r, 8, "%llu tensors are more than the file has room for",
                      (unsigned long long)count);
    g->tensors = takt_arena_array(r->arena, (size_t)count, sizeof *g->tensors);
    g->name_spans = takt_arena_array(r->arena, (size_t)count, sizeof *g->name_spans);
    if (g->tensors == NULL || g->name_spans == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_spans_init(&g->names, r->arena, g->name_spans, (size_t)count));
    for (size_t i = 0; i < count && !is_over(r); i++) {
        const uint64_t at = takt_cursor_offset(&r->c);
        TAKT_TRY(read_tensor(r, &g->tensors[i]));
        if (is_over(r))
            break;
        g->name_spans[i] = takt_span_of(g->tensors[i].name);
        if (!takt_spans_add(&g->names, (uint32_t)i))
            return REFUSE(r, at, "the tensor %s is there twice", g->tensors[i].name);
        g->tensor_count = i + 1;
    }
    return TAKT_OK;
}

/* Tensors are contiguous, each at the next multiple of the alignment. */
static takt_status place_tensors(reader *r)
{
    takt_gguf *g = r->g;
    size_t begin, at = 0, end;
    if (!takt_size_align((size_t)takt_cursor_offset(&r->c), (size_t)g->alignment, &begin))
        return REFUSE(r, takt_cursor_offset(&r->c), "the header is too long");
    g->data = begin;
    for (size_t i = 0; i < g->tensor_count; i++) {
        takt_gguf_tensor *t = &g->tensors[i];
        if (t->offset != at)
            return REFUSE(r, g->data, "%s lies at %llu of the data, not at %zu: %s", t->name,
                          (unsigned long long)t->offset, at,
                          t->offset % g->alignment != 0 ? "it is not aligned"
                          : t->offset < at              ? "tensors overlap or are out of order"
                                                        : "there is a hole");
        if (!takt_size_add(begin, at, &end) || !takt_size_add(end, t->bytes, &end) ||
            end > r->length)
            return REFUSE(r, r->length, "%s reaches beyond the file, which may have been cut",
                          t->name);
        t->offset = end - t->bytes;
        if (!takt_size_align(at + t->bytes, (size_t)g->alignment, &at))
            return REFUSE(r, r->length, "%s is too large", t->name);
    }
    return TAKT_OK;
}

/* ---- the file ---- */

bool takt_gguf_recognises(const uint8_t *bytes, size_t length)
{
    return length >= 4 && memcmp(bytes, "GGUF", 4) == 0;
}

static takt_status read_version(reader *r)
{
    if (!takt_gguf_recognises(r->c.base, r->c.end))
        return REFUSE(r, 0, "this is not a GGUF file");
    (void)takt_cursor_skip(&r->c, 4);
    r->g->version = takt_cursor_u32le(&r->c);
    if (r->c.failed)
        return cut(r);
    if (r->g->version == 2 || r->g->version == 3)
        return TAKT_OK;
    if ((r->g->version & 0xffff) == 0)
        return takt_gguf_fail(r->g, TAKT_E_GGUF_UNSUPPORTED, 4,
                              "the file is big-endian, or its version is impossible");
    (void)takt_gguf_fail(r->g, TAKT_E_GGUF_UNSUPPORTED, 4, "GGUF version %u is not read",
                         r->g->version);
    return takt_fail_hint(r->g->ctx, "versions 2 and 3 are; write the file again with llama.cpp");
}

static takt_status read_header(reader *r)
{
    TAKT_TRY(read_version(r));
    const uint64_t tensors = wide(r), values = wide(r);
    if (r->c.failed)
        return cut(r);
    TAKT_TRY(read_values(r, values));
    if (!is_over(r))
        TAKT_TRY(find_alignment(r));
    if (!is_over(r))
        TAKT_TRY(read_tensors(r, tensors));
    return is_over(r) ? TAKT_OK : place_tensors(r);
}

takt_status takt_gguf_parse(takt_arena *arena, const char *file, const uint8_t *bytes, size_t have,
                            size_t length, takt_gguf *gguf)
{
    *gguf = (takt_gguf){.ctx = arena->ctx, .file = file};
    reader r = {.arena = arena,
                .g = gguf,
                .c = takt_cursor_of(bytes, have, 0),
                .length = length > have ? length : have};
    return read_header(&r);
}
