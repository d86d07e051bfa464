/* taktp_read.c - reads compiled models. Every byte of the file is covered by a checksum or must be
 * zero, so damaged files are refused before their data are used. */
#include <string.h>

#include "base/crc32c.h"
#include "base/cursor.h"
#include "base/mem.h"
#include "base/size.h"
#include "io/map.h"
#include "io/read.h"
#include "io/takt/late_weight.h"
#include "io/takt/taktp.h"
#include "ir/late.h"
#include "ir/normal.h"
#include "lang/parse.h"

typedef struct reader {
    const takt_source *source;
    takt_span graph, weights, data, lineage, tokens; /* `at` NULL: absent so far */
    takt_tensor *tensors;
    size_t count, capacity;
} reader;

bool takt_taktp_recognises(const uint8_t *bytes, size_t length)
{
    return length >= 6 && memcmp(bytes, TAKTP_MAGIC, length < 8 ? length : 8) == 0;
}

static takt_status hinted(takt_ctx *ctx)
{
    return takt_fail_hint(ctx, "the file is cut off or damaged: fetch it or compile it again");
}

static takt_status damaged(const reader *r, const char *what)
{
    takt_fail(r->source->ctx, TAKT_E_TAKTP, "%s: %s", r->source->name, what);
    return hinted(r->source->ctx);
}

static takt_status too_new(const reader *r, const char *what, uint32_t value)
{
    takt_fail(r->source->ctx, TAKT_E_TAKTP_VERSION, "%s: %s %u is not known to this Takt",
              r->source->name, what, value);
    return takt_fail_hint(r->source->ctx, "compile the model again, or use a newer Takt");
}

static bool is_zero(const uint8_t *at, size_t length)
{
    uint8_t any = 0;
    for (size_t i = 0; i < length; i++)
        any |= at[i];
    return any == 0;
}

static size_t aligned(size_t at)
{
    return takt_round_up(at, TAKTP_ALIGN);
}

/* ---- header and sections ---- */

static takt_status read_header(const reader *r, uint32_t *sections)
{
    const uint8_t *bytes = r->source->bytes;
    *sections = 0;
    if (r->source->length < TAKTP_HEADER)
        return damaged(r, "the file ends within the header");
    takt_cursor c = takt_cursor_of(bytes, TAKTP_HEADER, 0);
    takt_cursor_skip(&c, 8);
    const uint16_t major = takt_cursor_u16le(&c);
    takt_cursor_u16le(&c); /* minor: its additions can be skipped */
    const uint32_t numerics = takt_cursor_u32le(&c);
    const uint64_t length = takt_cursor_u64le(&c);
    *sections = takt_cursor_u32le(&c);
    const uint32_t table = takt_cursor_u32le(&c);
    takt_cursor_skip(&c, TAKTP_HEADER - 4 - c.pos);
    if (takt_cursor_u32le(&c) != takt_crc32c(0, bytes, TAKTP_HEADER - 4))
        return damaged(r, "the checksum of the header is wrong");
    if (major != TAKTP_MAJOR)
        return too_new(r, "version", major);
    if (numerics != TAKTP_EXACT)
        return too_new(r, "arithmetic", numerics);
    if (length != r->source->length) {
        takt_fail(r->source->ctx, TAKT_E_TAKTP, "%s: has %zu bytes, its header says %llu",
                  r->source->name, r->source->length, (unsigned long long)length);
        return hinted(r->source->ctx);
    }
    const size_t room = (r->source->length - TAKTP_HEADER) / TAKTP_ENTRY;
    if (*sections > TAKTP_SECTIONS || *sections > room)
        return damaged(r, "the table of sections is too long");
    if (takt_crc32c(0, bytes + TAKTP_HEADER, (size_t)*sections * TAKTP_ENTRY) != table)
        return damaged(r, "the checksum of the table of sections is wrong");
    return TAKT_OK;
}

static takt_status keep_section(reader *r, uint32_t kind, uint32_t flags, takt_span span)
{
    takt_span *to = kind == TAKTP_GRAPH     ? &r->graph
                    : kind == TAKTP_WEIGHTS ? &r->weights
                    : kind == TAKTP_DATA    ? &r->data
                    : kind == TAKTP_LINEAGE ? &r->lineage
                    : kind == TAKTP_TOKENS  ? &r->tokens
                                            : NULL;
    if (to == NULL)
        return flags & TAKTP_OPTIONAL ? TAKT_OK : too_new(r, "a section of kind", kind);
    if (to->at != NULL)
        return damaged(r, "a section is there twice");
    *to = span;
    return TAKT_OK;
}

/* `*end` is the end of the previous section. */
static takt_status read_section(reader *r, takt_cursor *c, size_t *end)
{
    const uint8_t *bytes = r->source->bytes;
    const uint32_t kind = takt_cursor_u32le(c), flags = takt_cursor_u32le(c);
    const uint64_t offset = takt_cursor_u64le(c), length = takt_cursor_u64le(c);
    const uint32_t crc = takt_cursor_u32le(c);
    takt_cursor_u32le(c);
    if (aligned(*end) > r->source->length || offset != aligned(*end) ||
        length > r->source->length - offset)
        return damaged(r, "a section is not where the one before it ends, or outside the file");
    if (!is_zero(bytes + *end, (size_t)offset - *end))
        return damaged(r, "there are bytes between two sections");
    *end = (size_t)(offset + length);
    const takt_span span = {(const char *)bytes + offset, (size_t)length};
    if (kind != TAKTP_DATA && takt_crc32c(0, span.at, span.length) != crc) {
        takt_fail(r->source->ctx, TAKT_E_TAKTP, "%s: the checksum of section %.4s is wrong",
                  r->source->name, (const char *)c->base + c->pos - TAKTP_ENTRY);
        return hinted(r->source->ctx);
    }
    return keep_section(r, kind, flags, span);
}

static takt_status read_sections(reader *r)
{
    uint32_t count;
    TAKT_TRY(read_header(r, &count));
    takt_cursor c =
        takt_cursor_of(r->source->bytes + TAKTP_HEADER, (size_t)count * TAKTP_ENTRY, TAKTP_HEADER);
    size_t end = TAKTP_HEADER + (size_t)count * TAKTP_ENTRY;
    for (uint32_t i = 0; i < count; i++)
        TAKT_TRY(read_section(r, &c, &end));
    if (end != r->source->length)
        return damaged(r, "there are bytes after the last section");
    if (r->graph.at == NULL || r->weights.at == NULL || r->data.at == NULL)
        return damaged(r, "a section is missing");
    return TAKT_OK;
}

takt_status takt_taktp_tokens(const takt_source *source, takt_span *tokens)
{
    reader r = {.source = source};
    *tokens = (takt_span){0};
    TAKT_TRY(read_sections(&r));
    *tokens = r.tokens;
    return TAKT_OK;
}

/* ---- weights ---- */

static bool read_type(takt_cursor *c, takt_type *type)
{
    const uint32_t dtype = takt_cursor_u32le(c), rank = takt_cursor_u32le(c);
    if (dtype >= TAKT_DTYPE_COUNT || rank > TAKT_MAX_RANK)
        return false;
    *type = (takt_type){.dtype = (takt_dtype)dtype, .rank = (int)rank};
    for (uint32_t d = 0; d < rank; d++) {
        const uint64_t dim = takt_cursor_u64le(c);
        type->dim[d] = dim <= INT64_MAX ? (takt_dim)dim : -1;
        if (!takt_dim_is_number(type->dim[d]))
            return false;
    }
    return !c->failed;
}

/* In the mapped file, in the file until it is packed, or read to where it stays. `*crc` is the
 * checksum of its bytes. */
static takt_status place_weight(const reader *r, const takt_type *type, const uint8_t *from,
                                takt_tensor *t, uint32_t *crc)
{
    const takt_source *s = r->source;
    *t = (takt_tensor){.type = *type};
    if (takt_taktp_is_late(s, type))
        return takt_taktp_late(s, type, from, t, crc);
    if (s->mapping == NULL || !takt_map_tensor(s->mapping, s->length, type, from, t)) {
        TAKT_TRY(takt_tensor_create(s->ctx, type, t));
        TAKT_TRY(takt_source_copy(s, from, takt_tensor_data(t), takt_tensor_bytes(t)));
    }
    *crc = takt_crc32c(0, takt_tensor_data(t), takt_tensor_bytes(t));
    return TAKT_OK;
}

static takt_status keep_weight(reader *r, const takt_type *type, const uint8_t *from, uint32_t crc)
{
    const takt_source *s = r->source;
    const size_t index = r->count;
    uint32_t found = 0;
    void *array = r->tensors;
    const takt_status grown =
        takt_mem_grow(s->ctx, &array, &r->capacity, index + 1, sizeof *r->tensors);
    r->tensors = array;
    TAKT_TRY(grown);
    takt_tensor *t = &r->tensors[index];
    const takt_status placed = place_weight(r, type, from, t, &found);
    r->count += t->storage != NULL;
    TAKT_TRY(placed);
    if (found != crc) {
        takt_fail(s->ctx, TAKT_E_TAKTP, "%s: the checksum of weight %zu is wrong", s->name, index);
        return hinted(s->ctx);
    }
    if (takt_storage_is_late(t->storage))
        return TAKT_OK; /* any bytes are values of its type */
    const size_t bytes = takt_tensor_bytes(t);
    if (takt_normal_check(type, takt_tensor_data(t), bytes) < bytes)
        return takt_fail(s->ctx, TAKT_E_TAKTP, "%s: weight %zu: a bool is neither 0 nor 1", s->name,
                         index);
    return TAKT_OK;
}

/* One weight of the data, at the next multiple of 64 after `*end`. */
static takt_status read_weight(reader *r, takt_cursor *c, size_t *end)
{
    takt_ctx *ctx = r->source->ctx;
    takt_type type;
    size_t bytes;
    const bool has_type = read_type(c, &type);
    const uint64_t offset = takt_cursor_u64le(c), length = takt_cursor_u64le(c);
    const uint32_t crc = takt_cursor_u32le(c), name = takt_cursor_u32le(c);
    takt_cursor_skip(c, name);
    if (!has_type || c->failed || !takt_type_bytes(&type, &bytes) || bytes != length ||
        offset != aligned(*end) || offset > r->data.length || length > r->data.length - offset)
        return takt_fail(ctx, TAKT_E_TAKTP, "%s: the description of weight %zu is wrong",
                         r->source->name, r->count);
    if (length > ctx->limits.tensor_bytes)
        return takt_fail(ctx, TAKT_E_OVERFLOW, "%s: weight %zu has %zu bytes, more than the limit",
                         r->source->name, r->count, bytes);
    const uint8_t *from = (const uint8_t *)r->data.at + offset;
    uint8_t between[TAKTP_ALIGN];
    TAKT_TRY(takt_source_copy(r->source, from - (offset - *end), between, (size_t)offset - *end));
    if (!is_zero(between, (size_t)offset - *end))
        return damaged(r, "there are bytes between two weights");
    TAKT_TRY(keep_weight(r, &type, from, crc));
    if (r->source->skim != NULL) /* weights are contiguous, so this one is not read again */
        takt_skim_done((takt_skim *)(uintptr_t)r->source->skim, from, bytes);
    *end = (size_t)offset + bytes;
    return TAKT_OK;
}

static takt_status read_weights(reader *r)
{
    takt_cursor c = takt_cursor_of(r->weights.at, r->weights.length, 0);
    size_t end = 0;
    while (takt_cursor_left(&c) > 0)
        TAKT_TRY(read_weight(r, &c, &end));
    return end == r->data.length ? TAKT_OK : damaged(r, "there are bytes after the last weight");
}

static takt_status read_all(reader *r, takt_graph **graph)
{
    TAKT_TRY(read_sections(r));
    TAKT_TRY(read_weights(r));
    const takt_parse_options options = {.weights = r->tensors, .weight_count = r->count};
    const takt_source *s = r->source;
    TAKT_TRY(takt_parse(s->ctx, s->name, r->graph.at, r->graph.length, &options, graph));
    if (s->lineage != NULL && r->lineage.at != NULL) {
        takt_text_put(s->lineage, r->lineage.at, r->lineage.length);
        if (s->lineage->status != TAKT_OK) {
            takt_graph_destroy(*graph);
            *graph = NULL;
            return s->lineage->status;
        }
    }
    return TAKT_OK;
}

static takt_status read(const takt_source *source, takt_graph **graph)
{
    reader r = {.source = source};
    const takt_status status = read_all(&r, graph);
    for (size_t i = 0; i < r.count; i++)
        takt_tensor_release(&r.tensors[i]);
    takt_mem_put(source->ctx, r.tensors, r.capacity * sizeof *r.tensors);
    return status;
}

/* ---- the part that must be in memory ---- */

/* The position of a section; false: there is none, or not in the file. */
static bool find_section(const takt_skim *s, uint32_t count, uint32_t wanted, takt_span *span)
{
    for (uint32_t i = 0; i < count; i++) {
        takt_cursor c =
            takt_cursor_of(s->bytes + TAKTP_HEADER + (size_t)i * TAKTP_ENTRY, TAKTP_ENTRY, 0);
        const uint32_t kind = takt_cursor_u32le(&c);
        takt_cursor_skip(&c, 4);
        const uint64_t offset = takt_cursor_u64le(&c), length = takt_cursor_u64le(&c);
        if (kind != wanted)
            continue;
        if (offset > s->length || length > s->length - offset)
            return false;
        *span = (takt_span){(const char *)s->bytes + offset, (size_t)length};
        return true;
    }
    return false;
}

/* Large weights are read later, to where they stay. */
static takt_status leave_weights(takt_skim *s, takt_span index, takt_span data)
{
    takt_cursor c = takt_cursor_of(index.at, index.length, 0);
    const size_t start = (size_t)(data.at - (const char *)s->bytes);
    takt_type type;
    while (takt_cursor_left(&c) > 0 && read_type(&c, &type)) {
        const uint64_t offset = takt_cursor_u64le(&c), length = takt_cursor_u64le(&c);
        takt_cursor_skip(&c, 4);
        takt_cursor_skip(&c, takt_cursor_u32le(&c));
        if (c.failed || offset > data.length || length > data.length - offset)
            break;
        TAKT_TRY(takt_skim_leave(s, start + (size_t)offset, start + (size_t)(offset + length)));
    }
    return TAKT_OK;
}

/* An unusual file is read completely: then `read` reports why. */
static takt_status skim(takt_skim *s)
{
    TAKT_TRY(takt_skim_need(s, s->length < TAKTP_HEADER ? s->length : TAKTP_HEADER));
    takt_cursor c = takt_cursor_of(s->bytes, s->length, 0);
    takt_cursor_skip(&c, 24);
    const uint32_t count = takt_cursor_u32le(&c);
    const size_t table = TAKTP_HEADER + (size_t)count * TAKTP_ENTRY;
    takt_span index, data;
    if (!c.failed && count <= TAKTP_SECTIONS && table <= s->length) {
        TAKT_TRY(takt_skim_need(s, table));
        if (find_section(s, count, TAKTP_WEIGHTS, &index) &&
            find_section(s, count, TAKTP_DATA, &data) && index.at + index.length <= data.at) {
            TAKT_TRY(takt_skim_need(s, (size_t)(data.at - (const char *)s->bytes)));
            TAKT_TRY(leave_weights(s, index, data));
        }
    }
    return takt_skim_need(s, s->length);
}

const takt_reader takt_reader_taktp = {
    .name = "taktp",
    .summary = "Takt's compiled models (.taktp)",
    .recognises = takt_taktp_recognises,
    .read = read,
    .skim = skim,
};
