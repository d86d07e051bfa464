/* fit_table.c - fits a table of a report into the width of a line.
 *
 * Names are shortened in the middle, where they differ least, and prose is wrapped within its
 * column. Figures are never shortened; a table that has too many of them stays as it is.
 *
 * Columns are found in the text: cells never contain two blanks in a row, columns are at least two
 * apart.
 */
#include <stdlib.h>
#include <string.h>

#include "screen.h"

enum { INDENT = 2, GAP = 2, COLUMNS = 16, LEAST_NAME = 12, LEAST_PROSE = 24 };

static const char line_mark[] = "\xe2\x94\x80", cut_mark[] = "\xe2\x80\xa6";

typedef struct column {
    size_t first, end; /* characters, as in the text */
    size_t width;      /* as printed */
    bool is_left;      /* every cell begins at the column's edge, and they end differently */
    bool is_prose;
} column;

typedef struct table {
    const span *lines;
    size_t line_count;
    column columns[COLUMNS];
    size_t column_count;
    size_t indent, gap; /* as printed */
    bool is_ascii;
} table;

/* ---- characters ---- */

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xC0) != 0x80;
}

static size_t characters(span s)
{
    size_t count = 0;
    for (size_t i = 0; i < s.bytes; i++)
        count += begins_character(s.at[i]);
    return count;
}

/* The rest of the text after this many characters. */
static span after(span s, size_t count)
{
    size_t i = 0;
    for (; i < s.bytes && (count > 0 || !begins_character(s.at[i])); i++)
        count -= begins_character(s.at[i]) && count > 0;
    return (span){s.at + i, s.bytes - i};
}

static span before(span s, size_t count)
{
    return (span){s.at, s.bytes - after(s, count).bytes};
}

static void put(span s)
{
    fwrite(s.at, 1, s.bytes, stdout);
}

static void blanks(size_t count)
{
    printf("%*s", (int)count, "");
}

/* ---- what is a table ---- */

static bool is_rule(span s)
{
    const size_t size = sizeof line_mark - 1;
    if (s.bytes < INDENT + 3 * size || strncmp(s.at, "  ", INDENT) != 0)
        return false;
    for (size_t i = INDENT; i < s.bytes; i += size)
        if (s.bytes - i < size || memcmp(s.at + i, line_mark, size) != 0)
            return false;
    return true;
}

static bool is_row(span s)
{
    size_t i = 0;
    while (i < s.bytes && s.at[i] == ' ')
        i++;
    if (i < INDENT || i == s.bytes)
        return false;
    for (; i + 1 < s.bytes; i++)
        if (s.at[i] == ' ' && s.at[i + 1] == ' ')
            return true;
    return false;
}

bool screen_is_of_table(span line)
{
    return is_row(line) || is_rule(line);
}

/* The cell of a row, without blanks around it. */
static span cell_of(span row, const column *c)
{
    span s = before(after(row, c->first), c->end - c->first);
    for (; s.bytes > 0 && s.at[0] == ' '; s.at++)
        s.bytes--;
    while (s.bytes > 0 && s.at[s.bytes - 1] == ' ')
        s.bytes--;
    return s;
}

/* Marks the places at which a row has no blank; `taken` has room for the longest. */
static void mark_taken(const table *t, bool *taken)
{
    for (size_t i = 0; i < t->line_count; i++) {
        size_t place = 0;
        for (size_t k = 0; k < t->lines[i].bytes && !is_rule(t->lines[i]); k++) {
            place += k > 0 && begins_character(t->lines[i].at[k]);
            taken[place] = taken[place] || t->lines[i].at[k] != ' ';
        }
    }
}

static bool find_columns(table *t, size_t widest)
{
    bool *taken = calloc(widest + GAP + 1, sizeof *taken);
    if (taken == NULL)
        return false;
    mark_taken(t, taken);
    for (size_t i = INDENT; i < widest && t->column_count < COLUMNS; i++) {
        column *last = t->column_count > 0 ? &t->columns[t->column_count - 1] : NULL;
        if (!taken[i])
            continue;
        if (last == NULL || i >= last->end + GAP)
            t->columns[t->column_count++] = (column){.first = i, .end = i + 1};
        else
            last->end = i + 1;
    }
    free(taken);
    return t->column_count > 1 && t->columns[t->column_count - 1].end == widest;
}

static void judge_column(const table *t, column *c)
{
    const bool is_last = c == &t->columns[t->column_count - 1];
    bool is_left = true, is_right = true;
    c->width = c->end - c->first;
    for (size_t i = 0; i < t->line_count; i++) {
        const span row = t->lines[i], cell = cell_of(row, c);
        if (is_rule(row) || cell.bytes == 0)
            continue;
        is_left = is_left && after(row, c->first).at == cell.at;
        is_right =
            is_right && characters(cell) == c->width - (size_t)(cell.at - after(row, c->first).at);
        c->is_prose = c->is_prose || (is_last && memchr(cell.at, ' ', cell.bytes) != NULL);
    }
    c->is_left = is_left && !is_right;
}

/* ---- making it fit ---- */

static size_t width_of(const table *t)
{
    size_t width = t->indent + t->gap * (t->column_count - 1);
    for (size_t i = 0; i < t->column_count; i++)
        width += t->columns[i].width;
    return width;
}

/* The widest column that can still shrink. */
static column *widest_of(table *t)
{
    column *found = NULL;
    for (size_t i = 0; i < t->column_count; i++) {
        column *c = &t->columns[i];
        if (c->is_left && c->width > (c->is_prose ? LEAST_PROSE : LEAST_NAME) &&
            (found == NULL || c->width > found->width))
            found = c;
    }
    return found;
}

/* With the original blanks, or as few as possible. */
static bool shrink(table *t, size_t room, bool is_tight)
{
    t->indent = is_tight ? 0 : INDENT;
    t->gap = is_tight ? 1 : GAP;
    for (size_t i = 0; i < t->column_count; i++)
        t->columns[i].width = t->columns[i].end - t->columns[i].first;
    for (column *c; width_of(t) > room && (c = widest_of(t)) != NULL;)
        c->width--;
    return width_of(t) <= room;
}

static bool fit(table *t, size_t room)
{
    size_t widest = 0;
    for (size_t i = 0; i < t->line_count; i++) {
        const size_t width = is_rule(t->lines[i]) ? 0 : characters(t->lines[i]);
        widest = width > widest ? width : widest;
    }
    if (widest <= room || !find_columns(t, widest))
        return false;
    for (size_t i = 0; i < t->column_count; i++)
        judge_column(t, &t->columns[i]);
    return shrink(t, room, false) || shrink(t, room, true);
}

static void print_name(const table *t, span cell, size_t width)
{
    const size_t all = characters(cell), mark = t->is_ascii ? 2 : 1;
    if (all <= width) {
        put(cell);
        return;
    }
    const size_t head = (width - mark) / 2;
    put(before(cell, head));
    printf("%s", t->is_ascii ? ".." : cut_mark);
    put(after(cell, all - (width - mark - head)));
}

static size_t word_bytes(span text)
{
    size_t bytes = 0;
    while (bytes < text.bytes && text.at[bytes] != ' ' && text.at[bytes] != '\n')
        bytes++;
    return bytes;
}

void screen_prose(span cell, size_t width, size_t indent)
{
    size_t used = 0;
    while (cell.bytes > 0) {
        const span word = {cell.at, word_bytes(cell)};
        const size_t blank = word.bytes < cell.bytes;
        const size_t length = characters(word);
        if (used > 0 && used + 1 + length > width) {
            printf("\n");
            blanks(indent);
            used = 0;
        }
        printf("%s", used > 0 ? " " : "");
        put(word);
        used += length + (used > 0);
        cell.at += word.bytes + blank;
        cell.bytes -= word.bytes + blank;
    }
}

static void print_row(const table *t, span row)
{
    size_t owed = t->indent,
           place = t->indent; /* blanks not yet written, so that none end a line */
    for (size_t i = 0; i < t->column_count; i++) {
        const column *c = &t->columns[i];
        const span cell = cell_of(row, c);
        const size_t length = characters(cell), shown = length < c->width ? length : c->width;
        const size_t lead =
            shown < c->width && !c->is_left ? (size_t)(cell.at - after(row, c->first).at) : 0;
        if (cell.bytes > 0) {
            blanks(owed + lead);
            if (c->is_prose)
                screen_prose(cell, c->width, place);
            else
                print_name(t, cell, c->width);
            owed = c->width - lead - shown;
        } else {
            owed += c->width;
        }
        owed += t->gap;
        place += c->width + t->gap;
    }
    printf("\n");
}

static void print_rule(const table *t, size_t indent, size_t width)
{
    blanks(indent);
    for (size_t i = indent; i < width; i++)
        printf("%s", t->is_ascii ? "-" : line_mark);
    printf("\n");
}

void screen_table(const span *lines, size_t count, size_t room, bool is_ascii)
{
    table t = {.lines = lines, .line_count = count, .is_ascii = is_ascii};
    const bool is_changed = fit(&t, room);
    for (size_t i = 0; i < count; i++) {
        const span line = lines[i];
        if (is_rule(line)) {
            print_rule(&t, is_changed ? t.indent : INDENT,
                       is_changed ? width_of(&t) : characters(line));
        } else if (is_changed) {
            print_row(&t, line);
        } else {
            put(line);
            printf("\n");
        }
    }
}
