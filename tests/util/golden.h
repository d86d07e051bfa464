/* golden.h - files of cases: a line "=== title", a text, a line "---", and the expected result. */
#ifndef TAKT_TESTS_UTIL_GOLDEN_H
#define TAKT_TESTS_UTIL_GOLDEN_H

#include "base/text.h"

/* A whole file, terminated by a zero; the caller frees it. */
char *golden_file(const char *path, size_t *length);

typedef void golden_fn(const char *text, size_t length, takt_text *out);

/* Compares the result of `make` for each case with the file; with `bless` the file is rewritten.
 * `verb` is for messages. Returns the number of cases. */
size_t golden_cases(takt_ctx *ctx, const char *path, const char *verb, bool bless, golden_fn *make);

#endif
