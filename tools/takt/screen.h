/* screen.h - the parts of a report that a screen shows differently from a file. */
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
/* Characters in a line of standard output; SIZE_MAX if it is not a terminal. */
size_t screen_room(void);
/* Word by word in lines of `width`, each after the first `indent` blanks from the edge; a line end
 * in `text` counts as a blank. */
void screen_prose(span text, size_t width, size_t indent);
/* Prints lines of tables, each in `room` characters if possible. */
void screen_table(const span *lines, size_t count, size_t room, bool is_ascii);

#endif
