/* kept.h - the library's output to a sink, kept as one text. */
#ifndef TAKT_TOOL_KEPT_H
#define TAKT_TOOL_KEPT_H

#include <stddef.h>

/* Initialise with {0}; the text is terminated by a zero; the caller frees it. */
typedef struct tool_kept {
    char *at;
    size_t length;
} tool_kept;

/* A takt_sink_fn; `user` is the tool_kept. */
int tool_keep_text(void *user, const char *text, size_t length);

#endif
