/* cells.c - the lines and cells of a table in text.
 *
 * A cell may be quoted, and then hold separators; two quotes in it stand for one. */
#include <string.h>

#include "base/number.h"
#include "train/data/cells.h"

/* Quotes of a line belong to its first and last cell. */
static takt_span trim_blanks(takt_span s)
{
    while (s.length > 0 && s.at[0] == ' ')
        s.at++, s.length--;
    while (s.length > 0 && memchr(" \r", s.at[s.length - 1], 2) != NULL)
        s.length--;
    return s;
}

bool takt_cells_line(const takt_data_file *f, size_t *at, takt_span *line)
{
    while (*at < f->length) {
        const char *from = (const char *)f->bytes + *at;
        const char *end = memchr(from, '\n', f->length - *at);
        const size_t length = end != NULL ? (size_t)(end - from) : f->length - *at;
        *at += length + 1;
        *line = trim_blanks((takt_span){from, length});
        if (line->length > 0)
            return true;
    }
    return false;
}

/* Past the quoted part that begins at `at`. */
static const char *past_quotes(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at != '"')
            continue;
        if (at + 1 == end || at[1] != '"')
            return at + 1;
        at++;
    }
    return end;
}

/* Quotes at the ends may belong to pairs if all of the cell is quoted; if not, they are strays. */
static takt_span trim(takt_span s)
{
    s = trim_blanks(s);
    if (s.length > 1 && s.at[0] == '"' && s.at[s.length - 1] == '"' &&
        past_quotes(s.at, s.at + s.length) == s.at + s.length)
        return trim_blanks((takt_span){s.at + 1, s.length - 2});
    while (s.length > 0 && (s.at[0] == ' ' || s.at[0] == '"'))
        s.at++, s.length--;
    while (s.length > 0 && memchr(" \"\r", s.at[s.length - 1], 3) != NULL)
        s.length--;
    return s;
}

/* The separator that ends the cell at `at`, or `end`; between quotes there is none. */
static const char *end_of(char separator, const char *at, const char *end)
{
    while (at < end && *at == ' ' && separator != ' ')
        at++;
    if (at < end && *at == '"')
        at = past_quotes(at, end);
    const char *comma = at < end ? memchr(at, separator, (size_t)(end - at)) : NULL;
    return comma != NULL ? comma : end;
}

size_t takt_cells_split(char comma, takt_span line, takt_span *cell, size_t most)
{
    size_t count = 0;
    for (const char *at = line.at, *end = line.at + line.length; at <= end && count <= most;) {
        const char *stop = end_of(comma, at, end);
        if (count < most && cell != NULL)
            cell[count] = trim((takt_span){at, (size_t)(stop - at)});
        count++;
        while (comma == ' ' && stop + 1 < end && stop[1] == ' ')
            stop++; /* columns that are aligned by blanks */
        at = stop + 1;
    }
    return count;
}

bool takt_cell_is_number(takt_span s)
{
    double value;
    return takt_number_read(s.at, s.length, &value);
}

bool takt_cell_is_missing(takt_span s)
{
    static const char *const words[] = {"", "na", "n/a", "nan", "null", "#n/a", "?"};
    char lower[8];
    if (s.length >= sizeof lower)
        return false;
    for (size_t i = 0; i < s.length; i++)
        lower[i] = (char)(s.at[i] >= 'A' && s.at[i] <= 'Z' ? s.at[i] + 'a' - 'A' : s.at[i]);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (takt_span_is((takt_span){lower, s.length}, words[i]))
            return true;
    return false;
}

static bool has_pair(takt_span s)
{
    for (size_t i = 1; i < s.length; i++)
        if (s.at[i - 1] == '"' && s.at[i] == '"')
            return true;
    return false;
}

takt_status takt_cell_undo(takt_arena *arena, takt_span *cell)
{
    if (!has_pair(*cell))
        return TAKT_OK;
    char *to = takt_arena_array(arena, cell->length, 1);
    size_t length = 0;
    if (to == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < cell->length; i++) {
        to[length++] = cell->at[i];
        i += i + 1 < cell->length && cell->at[i] == '"' && cell->at[i + 1] == '"';
    }
    *cell = (takt_span){to, length};
    return TAKT_OK;
}
