/* lines.c - the non-empty lines of a text. */
#include "logic/lines.h"

#include <string.h>

takt_lines takt_lines_of(const char *file, takt_span text)
{
    takt_lines lines = {.file = file, .text = text};
    if (text.length >= 3 && memcmp(text.at, "\xef\xbb\xbf", 3) == 0) /* some editors write a byte
                                                                      * order mark */
        lines.at = 3;
    return lines;
}

bool takt_lines_next(takt_lines *lines, takt_span *line)
{
    while (lines->at < lines->text.length) {
        const char *from = lines->text.at + lines->at;
        const size_t left = lines->text.length - lines->at;
        const char *end = memchr(from, '\n', left);
        size_t length = end != NULL ? (size_t)(end - from) : left;
        lines->at += length + (end != NULL);
        lines->number++;
        if (length > 0 && from[length - 1] == '\r')
            length--;
        if (length == 0 || from[0] == '#')
            continue;
        *line = (takt_span){from, length};
        return true;
    }
    return false;
}
