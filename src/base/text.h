/* text.h - a growing text with a sticky failure, and comparison of names. */
#ifndef TAKT_BASE_TEXT_H
#define TAKT_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/inner.h"

/* A piece of text that need not be terminated. */
typedef struct takt_span {
    const char *at;
    size_t length;
} takt_span;

typedef struct takt_text {
    takt_ctx *ctx;
    char *at; /* always terminated once anything was added */
    size_t length, capacity;
    takt_status status; /* after the first failure additions are ignored */
} takt_text;

TAKT_INNER void takt_text_init(takt_text *text, takt_ctx *ctx);
TAKT_INNER void takt_text_deinit(takt_text *text);
TAKT_INNER void takt_text_add(takt_text *text, const char *format, ...) TAKT_PRINTF(2, 3);
void takt_text_addv(takt_text *text, const char *format, va_list args);
TAKT_INNER void takt_text_put(takt_text *text, const char *bytes, size_t length);
/* The text so far, "" if none. */
TAKT_INNER const char *takt_text_get(const takt_text *text);
/* The shortest decimal that reads back as the same double; "inf", "-inf", "nan". */
TAKT_INNER void takt_text_double(takt_text *text, double value);

bool takt_span_is(takt_span span, const char *text);
TAKT_INNER takt_span takt_span_of(const char *text);
/* Edits between two names, at most `limit` + 1; for "did you mean". */
size_t takt_name_distance(const char *a, const char *b, size_t limit);
/* Case-insensitive equality. */
bool takt_same_letters(const char *a, const char *b);

#endif
