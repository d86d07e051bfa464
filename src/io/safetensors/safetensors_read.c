/* safetensors_read.c - reads the header of a safetensors file, strictly. */
#include <string.h>

#include "base/cursor.h"
#include "base/json.h"
#include "base/size.h"
#include "base/sort.h"
#include "io/safetensors/safetensors.h"
#include "ir/normal.h"

enum { PREFIX = 8, HEADER_MAX = 100000000 };

static const struct {
    const char *name;
    takt_dtype dtype;
} dtypes[] = {
    {"F64", TAKT_F64},
    {"F32", TAKT_F32},
    {"F16", TAKT_F16},
    {"BF16", TAKT_BF16},
    {"I64", TAKT_I64},
    {"I32", TAKT_I32},
    {"I16", TAKT_I16},
    {"I8", TAKT_I8},
    {"U64", TAKT_U64},
    {"U32", TAKT_U32},
    {"U16", TAKT_U16},
    {"U8", TAKT_U8},
    {"BOOL", TAKT_BOOL},
    {"F8_E4M3", TAKT_F8E4M3FN},
    {"F8_E5M2", TAKT_F8E5M2},
    {"F8_E4M3FNUZ", TAKT_F8E4M3FNUZ},
    {"F8_E5M2FNUZ", TAKT_F8E5M2FNUZ},
    {"F4", TAKT_F4E2M1},
    {"F8_E8M0", TAKT_F8E8M0},
};

const char *takt_safetensors_dtype(takt_dtype dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (dtypes[i].dtype == dtype)
            return dtypes[i].name;
    return NULL;
}

bool takt_safetensors_recognises(const uint8_t *bytes, size_t length)
{
    takt_cursor c = takt_cursor_of(bytes, length, 0);
    const uint64_t size = takt_cursor_u64le(&c);
    const bool is_object = takt_cursor_u8(&c) == '{';
    return !c.failed && size >= 2 && size <= HEADER_MAX && is_object;
}

typedef struct reader {
    takt_ctx *ctx;
    const char *file;
    uint64_t data, data_bytes; /* offset of the bytes, and their number */
} reader;

/* `at`: in the file. */
static takt_status refuse_at(const reader *r, uint64_t at, const char *name, const char *why)
{
    (void)takt_fail(r->ctx, TAKT_E_SAFETENSORS, "%s: %s%s%s", r->file, name, *name ? ": " : "",
                    why);
    return takt_fail_offset(r->ctx, at);
}

/* `offset`: in the header. */
static takt_status refuse(const reader *r, uint32_t offset, const char *name, const char *why)
{
    return refuse_at(r, PREFIX + (uint64_t)offset, name, why);
}

static takt_status read_dtype(const reader *r, const takt_json *entry, takt_weight *w)
{
    const takt_json *v = takt_json_get(entry, "dtype");
    if (v == NULL || v->kind != TAKT_JSON_STRING)
        return refuse(r, entry->offset, w->name, "dtype is missing or no text");
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strlen(dtypes[i].name) == v->text_length &&
            memcmp(dtypes[i].name, v->text, v->text_length) == 0) {
            w->type.dtype = dtypes[i].dtype;
            return TAKT_OK;
        }
    return refuse(r, v->offset, w->name, "the element type is unknown");
}

static takt_status read_shape(const reader *r, const takt_json *entry, takt_weight *w)
{
    const takt_json *v = takt_json_get(entry, "shape");
    size_t product = 1, bits = 0;
    if (v == NULL || v->kind != TAKT_JSON_ARRAY)
        return refuse(r, entry->offset, w->name, "shape is missing or no list");
    if (v->count > TAKT_MAX_RANK)
        return refuse(r, v->offset, w->name, "the shape has too many dimensions");
    for (const takt_json *d = takt_json_first(v); d != NULL; d = takt_json_next(d)) {
        if (d->kind != TAKT_JSON_NUMBER || !d->is_integer || d->integer < 0)
            return refuse(r, d->offset, w->name, "a dimension is not a whole number");
        /* Skips zeros, so that an overflowing product is still detected. */
        if (d->integer > 0 && !takt_size_mul(product, (size_t)d->integer, &product))
            return refuse(r, d->offset, w->name, "the shape is too large");
        w->type.dim[w->type.rank++] = d->integer;
    }
    if (!takt_size_mul(product, (size_t)takt_dtype_bits(w->type.dtype), &bits) ||
        !takt_type_bytes(&w->type, &w->bytes) || w->bytes > r->ctx->limits.tensor_bytes)
        return refuse(r, v->offset, w->name, "the shape is too large");
    if (w->bytes > 0 && bits % 8 != 0)
        return refuse(r, v->offset, w->name, "the elements do not fill whole bytes");
    return TAKT_OK;
}

static takt_status read_offsets(const reader *r, const takt_json *entry, takt_weight *w)
{
    const takt_json *v = takt_json_get(entry, "data_offsets");
    int64_t at[2] = {0};
    size_t count = 0;
    if (v == NULL || v->kind != TAKT_JSON_ARRAY || v->count != 2)
        return refuse(r, entry->offset, w->name, "data_offsets is missing or no pair");
    for (const takt_json *d = takt_json_first(v); d != NULL; d = takt_json_next(d)) {
        if (d->kind != TAKT_JSON_NUMBER || !d->is_integer || d->integer < 0)
            return refuse(r, d->offset, w->name, "an offset is not a whole number");
        at[count++] = d->integer;
    }
    if (at[0] > at[1])
        return refuse(r, v->offset, w->name, "the offsets go backwards");
    if ((uint64_t)at[1] > r->data_bytes)
        return refuse(r, v->offset, w->name, "the offsets reach beyond the file");
    if ((uint64_t)(at[1] - at[0]) != w->bytes)
        return refuse(r, v->offset, w->name, "the offsets do not fit type and shape");
    w->offset = r->data + (uint64_t)at[0];
    return TAKT_OK;
}

static takt_status read_entry(const reader *r, const takt_json *entry, takt_weight *w)
{
    w->name = entry->key;
    if (strlen(w->name) > r->ctx->limits.name_bytes)
        return refuse(r, entry->offset, "", "a name is longer than limits.name_bytes");
    if (entry->kind != TAKT_JSON_OBJECT)
        return refuse(r, entry->offset, w->name, "is not an object");
    if (entry->count != 3)
        return refuse(r, entry->offset, w->name, "has other keys than dtype, shape, data_offsets");
    TAKT_TRY(read_dtype(r, entry, w));
    TAKT_TRY(read_shape(r, entry, w));
    return read_offsets(r, entry, w);
}

static takt_status check_metadata(const reader *r, const takt_json *entry)
{
    if (entry->kind != TAKT_JSON_OBJECT)
        return refuse(r, entry->offset, "__metadata__", "is not an object");
    for (const takt_json *v = takt_json_first(entry); v != NULL; v = takt_json_next(v))
        if (v->kind != TAKT_JSON_STRING)
            return refuse(r, v->offset, "__metadata__", "a value is not text");
    return TAKT_OK;
}

/* Sorted by offset; empty ones at the same offset keep the order of the header. */
static bool before(const void *a, const void *b)
{
    const takt_weight *p = a, *q = b;
    if (p->offset != q->offset)
        return p->offset < q->offset;
    return p->bytes != q->bytes ? p->bytes < q->bytes : p < q;
}

/* As in most files. */
static bool is_sorted(const void **order, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (before(order[i], order[i - 1]))
            return false;
    return true;
}

static takt_status misplaced(const reader *r, const takt_json *root, const char *name,
                             const char *why)
{
    const takt_json *entry = takt_json_get(root, name);
    const takt_json *offsets = entry != NULL ? takt_json_get(entry, "data_offsets") : NULL;
    return refuse(r, offsets != NULL ? offsets->offset : 0, name, why);
}

/* In the order of their bytes, which must be contiguous, without gaps or overlaps. */
static takt_status arrange(const reader *r, const takt_json *root, takt_arena *arena,
                           takt_weight_list *weights)
{
    const void **order = takt_arena_array(arena, weights->count, sizeof *order);
    takt_weight *sorted = takt_arena_array(arena, weights->count, sizeof *sorted);
    uint64_t at = r->data;
    if (order == NULL || sorted == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < weights->count; i++)
        order[i] = &weights->at[i];
    if (!is_sorted(order, weights->count))
        takt_sort_pointers(order, weights->count, before);
    for (size_t i = 0; i < weights->count; i++) {
        sorted[i] = *(const takt_weight *)order[i];
        if (sorted[i].offset != at)
            return misplaced(r, root, sorted[i].name,
                             sorted[i].offset < at ? "its bytes overlap another's"
                                                   : "there is a hole before its bytes");
        at += sorted[i].bytes;
    }
    weights->at = sorted;
    if (at != r->data + r->data_bytes)
        return refuse_at(r, at, "", "there are bytes after the last tensor");
    return TAKT_OK;
}

takt_status takt_safetensors_header(takt_arena *arena, const char *file, const uint8_t *bytes,
                                    size_t have, size_t length, takt_weight_list *weights)
{
    takt_cursor c = takt_cursor_of(bytes, have, 0);
    reader r = {.ctx = arena->ctx, .file = file};
    const uint64_t size = takt_cursor_u64le(&c);
    const takt_json *root;
    *weights = (takt_weight_list){0};
    if (c.failed)
        return refuse_at(&r, length, "", "the file is too short");
    if (size < 2 || size > HEADER_MAX) {
        refuse_at(&r, 0, "", "the header's size is impossible");
        return takt_fail_hint(r.ctx,
                              "weights come as safetensors, its .index.json, or npz; those of "
                              "a model are taken out by `takt convert MODEL -o w.npz`");
    }
    if (size > takt_cursor_left(&c))
        return refuse_at(&r, 0, "", "the header is longer than the file, which may have been cut");
    const char *text = (const char *)takt_cursor_take(&c, (size_t)size);
    if (text[0] != '{')
        return refuse(&r, 0, "", "the header does not begin with {");
    r.data = PREFIX + size;
    r.data_bytes = length - (size_t)r.data;
    const takt_status status = takt_json_parse(r.ctx, arena, text, (size_t)size, &root);
    if (status != TAKT_OK && r.ctx->error.offset >= 0)
        return takt_fail_offset(r.ctx, PREFIX + (uint64_t)r.ctx->error.offset);
    TAKT_TRY(status);
    if (root->kind != TAKT_JSON_OBJECT)
        return refuse(&r, 0, "", "the header is not an object");
    weights->at = takt_arena_array(arena, root->count, sizeof *weights->at);
    if (weights->at == NULL)
        return TAKT_ERR_MEMORY;
    for (const takt_json *e = takt_json_first(root); e != NULL; e = takt_json_next(e)) {
        if (strcmp(e->key, "__metadata__") == 0)
            TAKT_TRY(check_metadata(&r, e));
        else
            TAKT_TRY(read_entry(&r, e, &weights->at[weights->count++]));
    }
    return arrange(&r, root, arena, weights);
}

size_t takt_safetensors_data(const uint8_t *bytes, size_t have, size_t length)
{
    takt_cursor c = takt_cursor_of(bytes, have, 0);
    const uint64_t size = takt_cursor_u64le(&c);
    return c.failed || size > HEADER_MAX || size > length - PREFIX ? 0 : PREFIX + (size_t)size;
}

/* Bools must be 0 or 1: other bytes are refused, so that no reader of the file sees them. */
takt_status takt_safetensors_check(takt_ctx *ctx, const char *file, const uint8_t *bytes,
                                   const takt_weight *w)
{
    const reader r = {.ctx = ctx, .file = file};
    const size_t bad = takt_normal_check(&w->type, bytes + w->offset, w->bytes);
    return bad < w->bytes ? refuse_at(&r, w->offset + bad, w->name, "a bool is neither 0 nor 1")
                          : TAKT_OK;
}

takt_status takt_safetensors_read(takt_arena *arena, const char *file, const uint8_t *bytes,
                                  size_t length, takt_weight_list *weights)
{
    TAKT_TRY(takt_safetensors_header(arena, file, bytes, length, length, weights));
    for (size_t i = 0; i < weights->count; i++)
        TAKT_TRY(takt_safetensors_check(arena->ctx, file, bytes, &weights->at[i]));
    return TAKT_OK;
}
