/* golden.h - files of cases: a line "=== title", a text, a line "---", and what comes of it. */
#ifndef TAKT_TESTS_UTIL_GOLDEN_H
#define TAKT_TESTS_UTIL_GOLDEN_H

#include "base/text.h"

/* A whole file, with a zero behind it; the caller frees it. */
char *golden_file(const char *path, size_t *length);

typedef void golden_fn(const char *text, size_t length, takt_text *out);

/* Compares what `make` makes of each case with what the file says; with `bless` the file is written
 * again. `verb` is for messages. Returns how many there are. */
size_t golden_cases(takt_ctx *ctx, const char *path, const char *verb, bool bless, golden_fn *make);

#endif
