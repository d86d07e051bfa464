/* written.h - names inside option texts such as "batch=8,seq=2" and "A,B".
 *
 * A name is written as it is, or in backquotes, with the escapes of the language: \` \\ \" \n \t
 * \u{1F600}. Backquotes are needed for what the text itself gives a meaning: a comma in a list, a
 * backquote at the beginning. A *written* name is the one with its quotes.
 */
#ifndef TAKT_BASE_WRITTEN_H
#define TAKT_BASE_WRITTEN_H

#include <stdbool.h>

#include "base/text.h"

/* Bytes of the item at `text`, up to the first of `ends` outside of a quoted beginning. */
size_t takt_written_length(const char *text, const char *ends);
/* "name=value" of an item; the name may have = inside. False if one of the two is missing. */
bool takt_written_pair(takt_span item, takt_span *name, takt_span *value);
/* The name itself, written to `to`, which has room for `room` bytes; `written.length` bytes always
 * suffice. False for an unknown escape, or if it does not fit. */
bool takt_written_read(takt_span written, char *to, size_t room, size_t *length);
/* Whether both stand for the same name. */
bool takt_written_same(takt_span a, takt_span b);
/* Whether `written` stands for `name`. */
bool takt_written_is(takt_span written, takt_span name);

/* The text between quotes with escapes replaced, which only shortens it: `to` has room for `length`
 * bytes. */
bool takt_quoted_read(const char *inside, size_t length, char *to, size_t *to_length);

#endif
