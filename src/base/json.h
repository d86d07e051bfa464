/* json.h - JSON in and out. The reader makes a flat array of values, without recursion. */
#ifndef TAKT_BASE_JSON_H
#define TAKT_BASE_JSON_H

#include "base/arena.h"
#include "base/inner.h"
#include "base/text.h"

typedef enum takt_json_kind {
    TAKT_JSON_NULL,
    TAKT_JSON_BOOL,
    TAKT_JSON_NUMBER,
    TAKT_JSON_STRING,
    TAKT_JSON_ARRAY,
    TAKT_JSON_OBJECT,
} takt_json_kind;

/* One value. Children of a container follow it: the first is the next value, each links to its
 * sibling. Strings are decoded, terminated, and live in the arena. */
typedef struct takt_json {
    takt_json_kind kind;
    bool is_integer; /* a NUMBER written as an integer that fits `integer` */
    bool boolean;
    bool is_last;   /* has no next sibling */
    uint32_t count; /* children of a container */
    uint32_t size;  /* values of this subtree, itself included: sibling = this + size */
    double number;
    int64_t integer;
    const char *key;  /* in an object */
    const char *text; /* of a STRING */
    uint32_t text_length;
    uint32_t offset; /* in the source */
} takt_json;

/* Strict RFC 8259: UTF-8 checked, duplicate keys refused, depth and bytes limited by ctx. */
TAKT_INNER TAKT_MUST_USE takt_status takt_json_parse(takt_ctx *ctx, takt_arena *arena,
                                                     const char *bytes, size_t length,
                                                     const takt_json **root);
/* First child and next sibling; NULL when there is none. */
TAKT_INNER const takt_json *takt_json_first(const takt_json *container);
TAKT_INNER const takt_json *takt_json_next(const takt_json *value);
/* Member of an object, or NULL. */
TAKT_INNER const takt_json *takt_json_get(const takt_json *object, const char *key);

/* Writing: the writer handles commas and escapes. */
typedef struct takt_json_writer {
    takt_text *text;
    uint64_t has_item[4]; /* one bit per depth: something has been written there */
    int depth;
    bool after_key;
    bool pretty;
} takt_json_writer;

TAKT_INNER void takt_json_begin(takt_json_writer *w, takt_text *text, bool pretty);
TAKT_INNER void takt_json_open(takt_json_writer *w, char bracket); /* '{' or '[' */
TAKT_INNER void takt_json_close(takt_json_writer *w, char bracket);
TAKT_INNER void takt_json_key(takt_json_writer *w, const char *key);
TAKT_INNER void takt_json_string(takt_json_writer *w, const char *text);
TAKT_INNER void takt_json_number(takt_json_writer *w, double value); /* not finite: null */
TAKT_INNER void takt_json_integer(takt_json_writer *w, int64_t value);
TAKT_INNER void takt_json_unsigned(takt_json_writer *w, uint64_t value);
TAKT_INNER void takt_json_bool(takt_json_writer *w, bool value);
TAKT_INNER void takt_json_null(takt_json_writer *w);
/* Writes back a value that was read. */
void takt_json_value(takt_json_writer *w, const takt_json *value);
/* Members of an object: a key and its value. */
TAKT_INNER void takt_json_put_string(takt_json_writer *w, const char *key,
                                     const char *text); /* NULL: "" */
/* With a decimal point even if the value is whole, for readers that distinguish 30.0 from 30. */
void takt_json_put_real(takt_json_writer *w, const char *key, double value);
void takt_json_real(takt_json_writer *w, double value);
TAKT_INNER void takt_json_put_number(takt_json_writer *w, const char *key, double value);
TAKT_INNER void takt_json_put_integer(takt_json_writer *w, const char *key, int64_t value);
TAKT_INNER void takt_json_put_unsigned(takt_json_writer *w, const char *key, uint64_t value);
TAKT_INNER void takt_json_put_bool(takt_json_writer *w, const char *key, bool value);
TAKT_INNER void takt_json_put_open(takt_json_writer *w, const char *key, char bracket);

#endif
