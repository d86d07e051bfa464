/* kept.h - what the library writes to a sink, kept as one text. */
#ifndef TAKT_TOOL_KEPT_H
#define TAKT_TOOL_KEPT_H

#include <stddef.h>

/* Begins as {0}; the text ends with a zero and is the caller's to free. */
typedef struct tool_kept {
    char *at;
    size_t length;
} tool_kept;

/* A takt_sink_fn; `user` is the tool_kept. */
int tool_keep_text(void *user, const char *text, size_t length);

#endif
