/* settings.c - config.json as the metadata of a GGUF file. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/hf/hf.h"

const takt_json *takt_hf_member(const takt_json *object, const char *key)
{
    const takt_json *v =
        object != NULL && object->kind == TAKT_JSON_OBJECT ? takt_json_get(object, key) : NULL;
    return v != NULL && v->kind != TAKT_JSON_NULL ? v : NULL;
}

/* A word of a rule names a member of config.json, or with a dot a member of one: "a.b". */
static const takt_json *named(const takt_hf *h, takt_span word)
{
    char name[96];
    (void)snprintf(name, sizeof name, "%.*s", (int)word.length, word.at);
    char *dot = strchr(name, '.');
    if (dot == NULL)
        return takt_hf_member(h->config, name);
    *dot = '\0';
    return takt_hf_member(takt_hf_member(h->config, name), dot + 1);
}

int64_t takt_hf_integer(const takt_hf *h, const char *key, int64_t fallback)
{
    char full[160];
    int64_t value = fallback;
    (void)snprintf(full, sizeof full, "%s.%s", h->architecture, key);
    const takt_gguf_value *v = takt_gguf_find(&h->g, full);
    if (v == NULL || v->is_array || !takt_gguf_is_number(v) || !takt_gguf_integer(v, 0, &value))
        return fallback;
    return value;
}

/* ---- values ---- */

/* Adds a value under `key`; NULL if it exists already, or with a failure in `*status`. */
static takt_gguf_value *add(takt_hf *h, const char *key, takt_gguf_kind kind, takt_status *status)
{
    takt_gguf *g = &h->g;
    *status = TAKT_OK;
    if (takt_gguf_find(g, key) != NULL)
        return NULL;
    const char *copy = takt_arena_text(h->arena, key, strlen(key));
    if (copy == NULL || g->value_count == h->value_room) {
        *status = copy == NULL
                      ? TAKT_ERR_MEMORY
                      : takt_hf_fail(h, TAKT_E_GGUF_MODEL, NULL, "it has too many settings");
        return NULL;
    }
    const size_t i = g->value_count++;
    g->values[i] = (takt_gguf_value){.key = copy, .kind = kind, .count = 1};
    g->key_spans[i] = takt_span_of(copy);
    (void)takt_spans_add(&g->keys, (uint32_t)i);
    return &g->values[i];
}

/* Little-endian, as in the file. */
static takt_status add_bits(takt_hf *h, const char *key, takt_gguf_kind kind, uint64_t bits)
{
    takt_status status;
    takt_gguf_value *v = add(h, key, kind, &status);
    if (v == NULL)
        return status;
    uint8_t *bytes = takt_arena_get(h->arena, 8);
    if (bytes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    v->bytes = bytes;
    return TAKT_OK;
}

static const char *full(takt_hf *h, const char *key)
{
    return takt_arena_format(h->arena, "%s.%s", h->architecture, key);
}

takt_status takt_hf_put_integer(takt_hf *h, const char *key, int64_t value)
{
    const char *name = full(h, key);
    const bool is_small = value >= 0 && value <= UINT32_MAX;
    return name != NULL
               ? add_bits(h, name, is_small ? TAKT_GGUF_U32 : TAKT_GGUF_I64, (uint64_t)value)
               : TAKT_ERR_MEMORY;
}

takt_status takt_hf_put_number(takt_hf *h, const char *key, double value)
{
    const char *name = full(h, key);
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return name != NULL ? add_bits(h, name, TAKT_GGUF_F32, bits) : TAKT_ERR_MEMORY;
}

takt_status takt_hf_put_bool(takt_hf *h, const char *key, bool value)
{
    const char *name = full(h, key);
    return name != NULL ? add_bits(h, name, TAKT_GGUF_BOOL, value) : TAKT_ERR_MEMORY;
}

takt_status takt_hf_put_general(takt_hf *h, const char *key, const char *text)
{
    takt_status status;
    takt_gguf_value *v = add(h, key, TAKT_GGUF_STRING, &status);
    if (v == NULL)
        return status;
    takt_span *span = takt_arena_get(h->arena, sizeof *span);
    const char *copy = takt_arena_text(h->arena, text, strlen(text));
    if (span == NULL || copy == NULL)
        return TAKT_ERR_MEMORY;
    *span = takt_span_of(copy);
    v->texts = span;
    return TAKT_OK;
}

takt_status takt_hf_put_text(takt_hf *h, const char *key, const char *text)
{
    const char *name = full(h, key);
    return name != NULL ? takt_hf_put_general(h, name, text) : TAKT_ERR_MEMORY;
}

/* ---- rules ---- */

/* The first of the names after the key that config.json has; NULL: none. */
static const takt_json *look(const takt_hf *h, const takt_hf_line *line)
{
    const takt_json *v = NULL;
    for (size_t i = 2; v == NULL && i < line->count; i++)
        v = named(h, line->word[i]);
    return v;
}

static takt_status put(takt_hf *h, const char *key, const takt_json *v, bool is_number)
{
    switch (v->kind) {
    case TAKT_JSON_BOOL: return takt_hf_put_bool(h, key, v->boolean);
    case TAKT_JSON_STRING: return takt_hf_put_text(h, key, v->text);
    case TAKT_JSON_NUMBER:
        return v->is_integer && !is_number ? takt_hf_put_integer(h, key, v->integer)
                                           : takt_hf_put_number(h, key, v->number);
    default:
        return takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, v,
                            "%s is not one value for all layers, which Takt wants", v->key);
    }
}

/* "#: set KEY VALUE": an integer, a bool or a string. */
static takt_status set(takt_hf *h, const char *key, takt_span value)
{
    char text[64];
    int64_t number = 0;
    (void)snprintf(text, sizeof text, "%.*s", (int)value.length, value.at);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return takt_hf_put_bool(h, key, text[0] == 't');
    for (const char *d = text; *d != '\0'; d++) {
        if (*d < '0' || *d > '9' || d - text > 9)
            return takt_hf_put_text(h, key, text);
        number = 10 * number + (*d - '0');
    }
    return takt_hf_put_integer(h, key, number);
}

static bool is_said(const takt_json *v, takt_span wanted)
{
    char text[64];
    if (v->kind == TAKT_JSON_STRING)
        return takt_span_is(wanted, v->text);
    if (v->kind == TAKT_JSON_BOOL)
        return takt_span_is(wanted, v->boolean ? "true" : "false");
    (void)snprintf(text, sizeof text, "%g", v->number);
    return v->kind == TAKT_JSON_NUMBER && takt_span_is(wanted, text);
}

/* "#: expect NAME VALUE ..." */
static takt_status expect(const takt_hf *h, const takt_hf_line *line)
{
    const takt_json *v = named(h, line->word[1]);
    for (size_t i = 2; v != NULL && i < line->count; i++)
        if (is_said(v, line->word[i]))
            return TAKT_OK;
    return v == NULL ? TAKT_OK
                     : takt_hf_fail(h, TAKT_E_GGUF_UNSUPPORTED, v,
                                    "%.*s is %s, which %s.takt does not have",
                                    (int)line->word[1].length, line->word[1].at,
                                    v->kind == TAKT_JSON_STRING ? v->text : "another value",
                                    h->architecture);
}

bool takt_hf_applies(const takt_hf *h, takt_hf_line *line)
{
    char name[96];
    if (!takt_hf_is(line, "when") || line->count < 5)
        return true;
    (void)snprintf(name, sizeof name, "%.*s", (int)line->word[1].length, line->word[1].at);
    const takt_json *v = takt_hf_member(h->config, name);
    if (v == NULL || !is_said(v, line->word[2]))
        return false;
    line->count -= 3;
    memmove(line->word, line->word + 3, line->count * sizeof *line->word);
    return true;
}

static takt_status follow(takt_hf *h, takt_hf_line *line)
{
    char key[96];
    if (!takt_hf_applies(h, line))
        return TAKT_OK;
    const bool is_number = takt_hf_is(line, "number");
    (void)snprintf(key, sizeof key, "%.*s", (int)line->word[1].length, line->word[1].at);
    if (takt_hf_is(line, "expect"))
        return expect(h, line);
    if (takt_hf_is(line, "set") && line->count == 3)
        return set(h, key, line->word[2]);
    if (!is_number && !takt_hf_is(line, "key"))
        return TAKT_OK;
    if (strcmp(key, "attention.sliding_window") == 0 && takt_hf_has_no_window(h))
        return TAKT_OK;
    const takt_json *v = look(h, line);
    return v != NULL ? put(h, key, v, is_number) : TAKT_OK;
}

/* "#: times KEY N OTHER": N times OTHER, unless config.json had it. */
static takt_status multiply(takt_hf *h, takt_hf_line *line)
{
    char key[96], other[96];
    if (!takt_hf_applies(h, line) || !takt_hf_is(line, "times") || line->count != 4)
        return TAKT_OK;
    const takt_span by = line->word[2];
    (void)snprintf(key, sizeof key, "%.*s", (int)line->word[1].length, line->word[1].at);
    (void)snprintf(other, sizeof other, "%.*s", (int)line->word[3].length, line->word[3].at);
    const int64_t value = takt_hf_integer(h, other, 0);
    if (by.length != 1 || value < 1 || value > INT32_MAX)
        return TAKT_OK; /* errors in OTHER are reported by its reader */
    return takt_hf_put_integer(h, key, value * (by.at[0] - '0'));
}

takt_status takt_hf_settings(takt_hf *h)
{
    enum { ROOM = 128 };
    takt_gguf *g = &h->g;
    takt_hf_line line;
    h->value_room = ROOM;
    g->values = takt_arena_array(h->arena, ROOM, sizeof *g->values);
    g->key_spans = takt_arena_array(h->arena, ROOM, sizeof *g->key_spans);
    if (g->values == NULL || g->key_spans == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_spans_init(&g->keys, h->arena, g->key_spans, ROOM));
    TAKT_TRY(takt_hf_put_general(h, "general.architecture", h->architecture));
    takt_hf_lines lines = takt_hf_lines_of(h->architecture);
    while (takt_hf_next(&lines, &line))
        TAKT_TRY(follow(h, &line));
    lines = takt_hf_lines_of(h->architecture);
    while (takt_hf_next(&lines, &line))
        TAKT_TRY(multiply(h, &line));
    return takt_hf_layers(h);
}
