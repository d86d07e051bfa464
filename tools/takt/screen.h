/* screen.h - the parts of a report that a screen shows otherwise than a file. */
#ifndef TAKT_TOOL_SCREEN_H
#define TAKT_TOOL_SCREEN_H

#include "tool.h"

/* A part of a text; not terminated. */
typedef struct span {
    const char *at;
    size_t bytes;
} span;

/* A row of several cells, or a rule. */
bool screen_is_of_table(span line);
/* Prints lines of tables, each in `room` characters if that can be done. */
void screen_table(const span *lines, size_t count, size_t room, bool is_ascii);

#endif
