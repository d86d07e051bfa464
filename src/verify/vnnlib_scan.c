/* vnnlib_scan.c - tokens of VNN-LIB. */
#include "verify/vnnlib_scan.h"

#include <stdarg.h>
#include <stdio.h>

takt_status takt_vnnlib_fail(takt_vnnlib_scan *s, takt_error_id id, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    takt_fail(s->ctx, id, "%s, line %d: %s", s->name, s->line, text);
    return takt_fail_place(s->ctx, s->line, 0);
}

const char *takt_vnnlib_word(const takt_vnnlib_scan *s, char text[64])
{
    const size_t most = 60, length = s->word.length < most ? s->word.length : most;
    if (s->kind != TAKT_VNNLIB_WORD)
        return s->kind == TAKT_VNNLIB_OPEN    ? "("
               : s->kind == TAKT_VNNLIB_CLOSE ? ")"
                                              : "the end of the file";
    for (size_t i = 0; i < length; i++)
        text[i] = s->word.at[i] >= ' ' && s->word.at[i] < 127 ? s->word.at[i] : '?';
    text[length] = '\0';
    return text;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool ends_word(uint8_t c)
{
    return is_space(c) || c == '(' || c == ')' || c == ';';
}

static bool at_end(const takt_vnnlib_scan *s)
{
    return takt_cursor_left(&s->cursor) == 0;
}

static uint8_t peek(const takt_vnnlib_scan *s)
{
    return s->cursor.base[s->cursor.pos];
}

static void skip(takt_vnnlib_scan *s)
{
    while (!at_end(s)) {
        if (peek(s) == ';')
            while (!at_end(s) && peek(s) != '\n')
                takt_cursor_u8(&s->cursor);
        else if (!is_space(peek(s)))
            return;
        else if (takt_cursor_u8(&s->cursor) == '\n')
            s->line++;
    }
}

/* To the closing bracket or quote; such words do not nest. */
static takt_status enclosed(takt_vnnlib_scan *s, uint8_t end)
{
    takt_cursor_u8(&s->cursor);
    while (!at_end(s) && peek(s) != end) {
        if (peek(s) == '\n' || peek(s) == '(' || peek(s) == '[')
            break;
        takt_cursor_u8(&s->cursor);
    }
    if (at_end(s) || peek(s) != end)
        return takt_vnnlib_fail(s, TAKT_E_VNNLIB, "'%c' is missing", end);
    takt_cursor_u8(&s->cursor);
    return TAKT_OK;
}

takt_status takt_vnnlib_next(takt_vnnlib_scan *s)
{
    skip(s);
    const size_t from = s->cursor.pos;
    if (at_end(s)) {
        s->kind = TAKT_VNNLIB_END;
        return TAKT_OK;
    }
    if (peek(s) == '(' || peek(s) == ')') {
        s->kind = takt_cursor_u8(&s->cursor) == '(' ? TAKT_VNNLIB_OPEN : TAKT_VNNLIB_CLOSE;
        return TAKT_OK;
    }
    s->kind = TAKT_VNNLIB_WORD;
    while (!at_end(s) && !ends_word(peek(s)))
        if (peek(s) == '[')
            TAKT_TRY(enclosed(s, ']'));
        else if (peek(s) == '"')
            TAKT_TRY(enclosed(s, '"'));
        else if (takt_cursor_u8(&s->cursor) < ' ')
            return takt_vnnlib_fail(s, TAKT_E_VNNLIB, "a control character");
    s->word = (takt_span){(const char *)s->cursor.base + from, s->cursor.pos - from};
    return TAKT_OK;
}
