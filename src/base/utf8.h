/* utf8.h - UTF-8 as in RFC 3629: no overlong forms, no surrogates, nothing above 10FFFF. */
#ifndef TAKT_BASE_UTF8_H
#define TAKT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/inner.h"

/* Bytes of the valid character at `at` (1 to 4), or 0 if there is none; reads at most `left`. */
TAKT_INNER size_t takt_utf8_length(const char *at, size_t left);
/* Offset of the first byte that is not part of a valid character; `length` if all are. */
size_t takt_utf8_check(const char *bytes, size_t length);
/* Writes the character, which must not be a surrogate; returns its bytes. */
size_t takt_utf8_put(uint32_t character, char to[4]);
/* The longest prefix of a terminated text of at most `limit` bytes that cuts no character. */
size_t takt_utf8_cut(const char *text, size_t limit);

#endif
