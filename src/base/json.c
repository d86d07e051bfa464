/* json.c - strict JSON into a flat array.
 *
 * A first pass counts commas, brackets and string bytes. This bounds values and text, so two
 * allocations suffice. While a container is open, its `size` holds the index of its parent and its
 * `integer` that of its last child: the stack costs nothing and cannot overflow. */
#include "base/json.h"

#include <string.h>

#include "base/json_keys.h"
#include "base/json_scan.h"
#include "base/size.h"

static const uint32_t none = UINT32_MAX;

typedef struct parser {
    takt_json_scan scan;
    takt_json *values;
    uint32_t count, capacity;
    uint32_t open; /* innermost open container, or none */
    uint64_t depth;
    takt_json_keys keys;
} parser;

/* Upper bounds from the first pass. */
typedef struct bounds {
    size_t values, keys, text;
} bounds;

/* The end of the string that begins at `i`: its closing quote, or `length`. */
static size_t string_end(const char *s, size_t i, size_t length)
{
    for (i++; i < length && s[i] != '"'; i++)
        i += s[i] == '\\';
    return i < length ? i : length;
}

/* Each value but the first follows a comma or an opening bracket. Stops no later than parsing will:
 * at a bracket that nests too deeply. */
static bounds first_look(const char *s, size_t length, uint64_t depth_limit)
{
    bounds b = {.values = 1};
    uint64_t depth = 0;
    char closes = '\0'; /* after an opening bracket: the container would be empty */
    for (size_t i = 0; i < length && depth <= depth_limit; i++) {
        const char c = s[i];
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r')
            continue;
        b.values += closes != '\0' && c != closes;
        closes = c == '[' ? ']' : c == '{' ? '}' : '\0';
        depth += closes != '\0';
        depth -= (c == ']' || c == '}') && depth > 0;
        b.values += c == ',';
        b.keys += c == ':';
        if (c == '"') {
            const size_t end = string_end(s, i, length);
            b.text += end - i; /* decoding never lengthens; a quote pays for the terminator */
            i = end;
        }
    }
    b.values += closes != '\0';
    return b;
}

static takt_status prepare(parser *p, takt_arena *arena)
{
    takt_ctx *ctx = p->scan.ctx;
    const bounds b = first_look(p->scan.at, p->scan.length, ctx->limits.depth);
    p->values = takt_arena_array(arena, b.values, sizeof *p->values);
    if (p->values == NULL)
        return ctx->error.status;
    p->capacity = (uint32_t)b.values;
    const size_t text = b.text + 8; /* the bounds are below 2^33, see takt_json_parse */
    p->scan.text = takt_arena_get(arena, text);
    if (p->scan.text == NULL)
        return ctx->error.status;
    p->scan.text_end = p->scan.text + text;
    return takt_json_keys_open(&p->keys, ctx, b.keys);
}

/* The key of value `index`, whose text is at `place`, must be unique in its object. Keys of small
 * objects, which most are, are compared one by one; only those of larger ones go into the table,
 * which is slow once it outgrows the caches. */
static takt_status note_key(parser *p, uint32_t index, size_t place)
{
    enum { SMALL = 8 };
    const uint32_t before = p->values[p->open].count;
    uint32_t member = p->open + 1;
    bool is_new = true;
    for (uint32_t i = 0; before <= SMALL && i < before; i++, member += p->values[member].size) {
        is_new = is_new && strcmp(p->values[member].key, p->values[index].key) != 0;
        if (before == SMALL)
            (void)takt_json_keys_add(&p->keys, p->values, p->open, member);
    }
    if (before >= SMALL && is_new)
        is_new = takt_json_keys_add(&p->keys, p->values, p->open, index);
    if (is_new)
        return TAKT_OK;
    return takt_json_fail_at(&p->scan, place, "the key \"%.64s\" appears twice in one object",
                             p->values[index].key);
}

/* The "key": of the next value. */
static takt_status read_key(parser *p)
{
    takt_json_scan *s = &p->scan;
    uint32_t length;
    if (takt_json_peek(s) != '"')
        return takt_json_expected(s, "a key in double quotes");
    if (p->count >= p->capacity)
        return takt_fail(s->ctx, TAKT_E_INTERNAL, "JSON values outgrew their own bound");
    const size_t place = s->pos;
    takt_json *value = &p->values[p->count];
    TAKT_TRY(takt_json_scan_string(s, &value->key, &length));
    if (strlen(value->key) != length)
        return takt_json_fail_at(s, place, "a key contains the character \\u0000");
    if (takt_json_peek(s) != ':')
        return takt_json_expected(s, "':' after the key");
    s->pos++;
    return note_key(p, p->count, place);
}

static takt_status open_container(parser *p, takt_json_kind kind)
{
    const uint32_t index = p->count - 1;
    const uint64_t limit = p->scan.ctx->limits.depth;
    if (p->depth >= limit) {
        takt_fail(p->scan.ctx, TAKT_E_NESTING,
                  "JSON, at byte %zu: nested deeper than the %llu levels that limits.depth allows",
                  p->scan.pos, (unsigned long long)limit);
        return takt_json_place(&p->scan, p->scan.pos);
    }
    p->values[index].kind = kind;
    p->values[index].size = p->open;
    p->open = index;
    p->depth++;
    p->scan.pos++;
    return TAKT_OK;
}

static void close_container(parser *p)
{
    takt_json *container = &p->values[p->open];
    const uint32_t index = p->open;
    p->open = container->size;
    container->size = p->count - index;
    if (container->count > 0)
        p->values[container->integer].is_last = true;
    container->integer = 0;
    p->depth--;
    p->scan.pos++;
}

/* Reads one value; a container is left open. */
static takt_status read_value(parser *p)
{
    takt_json_scan *s = &p->scan;
    const int c = takt_json_peek(s);
    if (p->count >= p->capacity)
        return takt_fail(s->ctx, TAKT_E_INTERNAL, "JSON values outgrew their own bound");
    takt_json *value = &p->values[p->count++];
    value->offset = (uint32_t)s->pos;
    value->size = 1;
    if (p->open != none) {
        p->values[p->open].count++;
        p->values[p->open].integer = p->count - 1;
    }
    if (c == '{' || c == '[')
        return open_container(p, c == '{' ? TAKT_JSON_OBJECT : TAKT_JSON_ARRAY);
    if (c == '"') {
        value->kind = TAKT_JSON_STRING;
        return takt_json_scan_string(s, &value->text, &value->text_length);
    }
    if (c == '-' || (c >= '0' && c <= '9'))
        return takt_json_scan_number(s, value);
    return takt_json_scan_word(s, value);
}

/* After a value: closes the containers that end here, and stops before the next value or at the
 * end. */
static takt_status after_value(parser *p)
{
    takt_json_scan *s = &p->scan;
    while (p->open != none) {
        const bool is_object = p->values[p->open].kind == TAKT_JSON_OBJECT;
        const bool is_new = p->open == p->count - 1; /* opened, and still empty */
        const int c = takt_json_peek(s);
        if (c == (is_object ? '}' : ']')) {
            close_container(p);
            continue;
        }
        if (!is_new) {
            if (c != ',')
                return takt_json_expected(s, is_object ? "',' or '}'" : "',' or ']'");
            s->pos++;
        }
        return is_object ? read_key(p) : TAKT_OK;
    }
    return takt_json_peek(s) < 0 ? TAKT_OK : takt_json_expected(s, "the end of the text");
}

static takt_status parse(parser *p)
{
    do {
        TAKT_TRY(read_value(p));
        TAKT_TRY(after_value(p));
    } while (p->open != none);
    return TAKT_OK;
}

takt_status takt_json_parse(takt_ctx *ctx, takt_arena *arena, const char *bytes, size_t length,
                            const takt_json **root)
{
    *root = NULL;
    const uint64_t limit = ctx->limits.file_bytes;
    if (length >= INT32_MAX || length > limit)
        return takt_fail(ctx, TAKT_E_FILE_SIZE, "a JSON text of %zu bytes; at most %llu are read",
                         length, (unsigned long long)(limit < INT32_MAX ? limit : INT32_MAX - 1));
    parser p = {.scan = {.ctx = ctx, .at = bytes, .length = length}, .open = none};
    takt_status status = prepare(&p, arena);
    if (status == TAKT_OK)
        status = parse(&p);
    takt_json_keys_close(&p.keys, ctx);
    if (status != TAKT_OK)
        return status;
    p.values[0].is_last = true;
    *root = p.values;
    return TAKT_OK;
}

const takt_json *takt_json_first(const takt_json *container)
{
    return container->count > 0 ? container + 1 : NULL;
}

const takt_json *takt_json_next(const takt_json *value)
{
    return value->is_last ? NULL : value + value->size;
}

const takt_json *takt_json_get(const takt_json *object, const char *key)
{
    if (object == NULL || object->kind != TAKT_JSON_OBJECT)
        return NULL;
    const takt_json *member = object + 1;
    for (uint32_t i = 0; i < object->count; i++, member += member->size) {
        if (strcmp(member->key, key) == 0)
            return member;
    }
    return NULL;
}
