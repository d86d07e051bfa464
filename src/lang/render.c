/* render.c - complaints as a compiler prints them.
 *
 *     mlp.takt:4:8: error 2202: there is no value called hh
 *       4 |   y = relu(hh)
 *         |            ^~
 *       hint: did you mean h?
 */
#include <string.h>

#include "base/utf8.h"
#include "lang/diag.h"

enum { SHOWN = 96, BEFORE = 40 }; /* characters of a line, and of them before the caret */

static takt_span line_of(const char *text, size_t length, int line)
{
    size_t start = 0;
    for (int n = 1; n < line && start < length; n++) {
        const char *end = memchr(text + start, '\n', length - start);
        start = end != NULL ? (size_t)(end - text) + 1 : length;
    }
    const char *end = start < length ? memchr(text + start, '\n', length - start) : NULL;
    return (takt_span){text + start, end != NULL ? (size_t)(end - text) - start : length - start};
}

/* Bytes of the next character; one for an invalid UTF-8 byte. */
static size_t step(takt_span line, size_t at)
{
    const size_t n = takt_utf8_length(line.at + at, line.length - at);
    return n > 0 ? n : 1;
}

/* Only the part of a long line around the caret; control characters and bad bytes as '?'. */
static void source_line(takt_span line, int first, takt_text *out)
{
    size_t at = 0;
    for (int c = 1; c < first && at < line.length; c++)
        at += step(line, at);
    for (int shown = 0; at < line.length && shown < SHOWN; shown++) {
        const size_t n = takt_utf8_length(line.at + at, line.length - at);
        const bool is_odd = n == 0 || ((unsigned char)line.at[at] < ' ' && line.at[at] != '\t') ||
                            line.at[at] == 0x7f;
        if (!is_odd)
            takt_text_put(out, line.at + at, n);
        else if (line.at[at] != '\r')
            takt_text_put(out, "?", 1);
        at += n > 0 ? n : 1;
    }
    if (at < line.length)
        takt_text_add(out, " ...");
}

/* Tabs stay tabs, so that the caret is below its character. */
static void underline(takt_span line, int first, const takt_diagnostic *d, takt_text *out)
{
    size_t at = 0;
    for (int c = 1; c < first && at < line.length; c++)
        at += step(line, at);
    for (int c = first; c < d->column; c++) {
        const bool is_tab = at < line.length && line.at[at] == '\t';
        takt_text_put(out, is_tab ? "\t" : " ", 1);
        at += at < line.length ? step(line, at) : 0;
    }
    takt_text_put(out, "^", 1);
    for (int c = d->column + 1; c < d->column + d->length && c < first + SHOWN; c++)
        takt_text_put(out, "~", 1);
}

static void one(const takt_diagnostic *d, const char *file_name, takt_span line, takt_text *out)
{
    takt_text_add(out, "%s:%d:%d: ", file_name, d->line, d->column);
    if (d->severity == TAKT_SEVERITY_WARNING)
        takt_text_add(out, "warning: %s\n", d->message);
    else
        takt_text_add(out, "error %d: %s\n", d->id, d->message);
    const int first = d->column > SHOWN / 2 + BEFORE ? d->column - BEFORE : 1;
    takt_text_add(out, "%5d | %s", d->line, first > 1 ? "..." : "");
    source_line(line, first, out);
    takt_text_add(out, "\n      | %s", first > 1 ? "   " : "");
    underline(line, first, d, out);
    takt_text_add(out, "\n");
    if (d->note[0] != '\0')
        takt_text_add(out, "  note: %s\n", d->note);
    if (d->hint[0] != '\0')
        takt_text_add(out, "  hint: %s\n", d->hint);
}

void takt_diagnostics_render(const takt_diagnostics *list, const char *file_name, const char *text,
                             size_t length, takt_text *out)
{
    for (size_t i = 0; i < list->count; i++) {
        const takt_diagnostic *d = &list->at[i];
        if (d->file != NULL)
            one(d, d->file, (takt_span){d->source, strlen(d->source)}, out);
        else
            one(d, file_name, line_of(text, length, d->line), out);
    }
}
