/* colour.h - colours on a terminal: Takt's own words for results. */
#ifndef TAKT_TOOL_COLOUR_H
#define TAKT_TOOL_COLOUR_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the first word of `text` that has a colour: `*at` and `*length`. More words have one at the
 * beginning of a line. NULL: none. */
const char *tool_colour_of(const char *text, size_t size, bool is_line, size_t *at, size_t *length);

#endif
