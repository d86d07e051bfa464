/* table.c - readable tables and figures. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/report.h"

void takt_table_init(takt_table *t, takt_ctx *ctx, const char *align)
{
    memset(t, 0, sizeof *t);
    takt_arena_init(&t->arena, ctx);
    t->align = align;
    t->columns = strlen(align);
}

void takt_table_deinit(takt_table *t)
{
    takt_mem_put(t->arena.ctx, t->cells, t->capacity * sizeof *t->cells);
    takt_arena_deinit(&t->arena);
}

/* Characters, not bytes: names may be in any script. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void push(takt_table *t, const char *cell)
{
    void *cells = t->cells;
    if (t->status == TAKT_OK)
        t->status =
            takt_mem_grow(t->arena.ctx, &cells, &t->capacity, t->count + 1, sizeof *t->cells);
    t->cells = cells;
    if (t->status == TAKT_OK)
        t->cells[t->count++] = cell;
}

void takt_table_cell(takt_table *t, const char *format, ...)
{
    takt_text text;
    va_list args;
    takt_text_init(&text, t->arena.ctx);
    va_start(args, format);
    takt_text_addv(&text, format, args);
    va_end(args);
    const char *cell = takt_arena_text(&t->arena, takt_text_get(&text), text.length);
    if (cell == NULL || text.status != TAKT_OK) {
        t->status = TAKT_ERR_MEMORY;
    } else {
        const size_t column = t->count % t->columns, width = width_of(cell);
        t->width[column] = width > t->width[column] ? width : t->width[column];
        push(t, cell);
    }
    takt_text_deinit(&text);
}

void takt_table_rule(takt_table *t)
{
    for (size_t c = 0; c < t->columns; c++)
        push(t, NULL);
}

static void spaces(takt_text *text, size_t count)
{
    for (; count > 0; count--)
        takt_text_put(text, " ", 1);
}

static void print_row(const takt_table *t, const char *const *row, takt_text *text)
{
    size_t owed = 2; /* blanks not yet written, so that none end a line */
    for (size_t c = 0; c < t->columns; c++) {
        const size_t width = width_of(row[c]), gap = t->width[c] - width;
        owed += t->align[c] == 'r' ? gap : 0;
        if (width > 0) {
            spaces(text, owed);
            takt_text_put(text, row[c], strlen(row[c]));
            owed = 0;
        }
        owed += (t->align[c] == 'r' ? 0 : gap) + 2;
    }
    takt_text_put(text, "\n", 1);
}

static void print_rule(const takt_table *t, takt_text *text)
{
    size_t width = 2 * (t->columns - 1);
    for (size_t c = 0; c < t->columns; c++)
        width += t->width[c];
    spaces(text, 2);
    for (; width > 0; width--)
        takt_text_add(text, "─");
    takt_text_put(text, "\n", 1);
}

void takt_table_print(const takt_table *t, takt_text *text)
{
    if (t->status != TAKT_OK) {
        text->status = t->status;
        return;
    }
    for (size_t i = 0; i + t->columns <= t->count; i += t->columns) {
        if (t->cells[i] == NULL)
            print_rule(t, text);
        else
            print_row(t, &t->cells[i], text);
    }
}

const char *takt_figure(uint64_t value, char to[static TAKT_FIGURE_TEXT])
{
    char digits[24];
    const size_t length =
        (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *end = to;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *end++ = ',';
        *end++ = digits[i];
    }
    *end = '\0';
    return to;
}

const char *takt_figure_bytes(uint64_t bytes, char to[static TAKT_FIGURE_TEXT])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    double value = (double)bytes;
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1000;
    snprintf(to, TAKT_FIGURE_TEXT, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return to;
}

uint64_t takt_whole(double value)
{
    return value < 1 ? 0 : value >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)(value + 0.5);
}
