/* lines.h - the non-empty lines of a text, with their numbers. */
#ifndef TAKT_LOGIC_LINES_H
#define TAKT_LOGIC_LINES_H

#include "base/text.h"

typedef struct takt_lines {
    const char *file; /* for messages */
    takt_span text;
    size_t at;
    unsigned number; /* of the line given last, from 1 */
} takt_lines;

takt_lines takt_lines_of(const char *file, takt_span text);
/* The next line without its end, skipping blank ones and comments (# first); false at the end. */
bool takt_lines_next(takt_lines *lines, takt_span *line);

#endif
