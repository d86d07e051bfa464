/* json_scan.c - the tokens of JSON. */
#include "base/json_scan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

int takt_json_peek(takt_json_scan *s)
{
    while (s->pos < s->length) {
        const char c = s->at[s->pos];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return (unsigned char)c;
        s->pos++;
    }
    return -1;
}

static void count_lines(const takt_json_scan *s, size_t pos, int *line, int *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < pos; i++) {
        if (s->at[i] == '\n') {
            *line += 1;
            *column = 1;
        } else if ((s->at[i] & 0xC0) != 0x80) { /* continuation bytes do not count */
            *column += 1;
        }
    }
}

takt_status takt_json_place(takt_json_scan *s, size_t pos)
{
    int line, column;
    count_lines(s, pos, &line, &column);
    takt_fail_place(s->ctx, line, column);
    return takt_fail_offset(s->ctx, pos);
}

takt_status takt_json_fail_at(takt_json_scan *s, size_t pos, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    int line, column;
    count_lines(s, pos, &line, &column);
    takt_fail(s->ctx, TAKT_E_JSON, "JSON, line %d, column %d: %s", line, column, what);
    return takt_json_place(s, pos);
}

takt_status takt_json_expected(takt_json_scan *s, const char *what)
{
    const int c = takt_json_peek(s);
    if (c < 0)
        return takt_json_fail_at(s, s->pos, "expected %s, but the text ends", what);
    if (c == '/' || c == '#')
        return takt_json_fail_at(s, s->pos, "expected %s; JSON has no comments", what);
    if (c == 0xEF && s->pos == 0)
        return takt_json_fail_at(s, s->pos, "expected %s, found a byte order mark", what);
    if (c < 0x20 || c >= 0x7F)
        return takt_json_fail_at(s, s->pos, "expected %s, found the byte 0x%02X", what,
                                 (unsigned)c);
    return takt_json_fail_at(s, s->pos, "expected %s, found '%c'", what, c);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    const char low = (char)(c | 0x20);
    return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* The four digits at `pos`, or -1. */
static int32_t hex4(const takt_json_scan *s, size_t pos)
{
    int32_t value = 0;
    if (s->length - pos < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        const int digit = hex(s->at[pos + i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* \uXXXX, or a pair of them; `pos` is at the backslash. */
static takt_status unicode(takt_json_scan *s, char **to)
{
    const size_t start = s->pos;
    const int32_t high = hex4(s, start + 2);
    if (high < 0)
        return takt_json_fail_at(s, start, "\\u needs four hexadecimal digits");
    uint32_t c = (uint32_t)high;
    s->pos = start + 6;
    if (c >= 0xD800 && c < 0xE000) {
        int32_t low = -1;
        if (c < 0xDC00 && s->length - s->pos >= 6 && s->at[s->pos] == '\\' &&
            s->at[s->pos + 1] == 'u')
            low = hex4(s, s->pos + 2);
        if (low < 0xDC00 || low > 0xDFFF)
            return takt_json_fail_at(s, start, "\\u%04X is half of a surrogate pair", (unsigned)c);
        c = 0x10000 + ((c - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
        s->pos += 6;
    }
    *to += takt_utf8_put(c, *to); /* never longer than the escape */
    return TAKT_OK;
}

static takt_status escape(takt_json_scan *s, char **to)
{
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (s->pos + 1 >= s->length)
        return takt_json_fail_at(s, s->pos, "the text ends in an escape");
    const char c = s->at[s->pos + 1];
    if (c == 'u')
        return unicode(s, to);
    const char *found = c != '\0' ? strchr(names, c) : NULL;
    if (found == NULL)
        return takt_json_fail_at(s, s->pos, "an escape that JSON does not have");
    *(*to)++ = meanings[found - names];
    s->pos += 2;
    return TAKT_OK;
}

takt_status takt_json_scan_string(takt_json_scan *s, const char **text, uint32_t *length)
{
    const size_t start = s->pos++;
    char *to = s->text;
    *text = to;
    for (;;) {
        if (s->pos >= s->length)
            return takt_json_fail_at(s, start, "this string never ends");
        const unsigned char c = (unsigned char)s->at[s->pos];
        if (c == '"')
            break;
        if (to >= s->text_end - 4)
            return takt_fail(s->ctx, TAKT_E_INTERNAL, "JSON text outgrew its own bound");
        if (c == '\\') {
            TAKT_TRY(escape(s, &to));
            continue;
        }
        if (c < 0x20)
            return takt_json_fail_at(s, s->pos, "the control character 0x%02X stands in a string",
                                     c);
        const size_t step = takt_utf8_length(s->at + s->pos, s->length - s->pos);
        if (step == 0)
            return takt_json_fail_at(s, s->pos, "the byte 0x%02X is not UTF-8 here", c);
        memcpy(to, s->at + s->pos, step);
        to += step;
        s->pos += step;
    }
    s->pos++;
    *length = (uint32_t)(to - s->text);
    *to++ = '\0';
    s->text = to;
    return TAKT_OK;
}

static size_t digits(const takt_json_scan *s, size_t pos)
{
    size_t count = 0;
    while (pos + count < s->length && s->at[pos + count] >= '0' && s->at[pos + count] <= '9')
        count++;
    return count;
}

static bool is_at(const takt_json_scan *s, size_t pos, char a, char b)
{
    return pos < s->length && (s->at[pos] == a || s->at[pos] == b);
}

/* The end of the number by the grammar, and whether it is an integer; 0 if it is not a number. */
static size_t number_end(const takt_json_scan *s, bool *is_integer)
{
    size_t pos = s->pos + is_at(s, s->pos, '-', '-');
    const size_t whole = digits(s, pos);
    *is_integer = true;
    if (whole == 0 || (whole > 1 && s->at[pos] == '0'))
        return 0;
    pos += whole;
    if (is_at(s, pos, '.', '.')) {
        *is_integer = false;
        const size_t part = digits(s, pos + 1);
        if (part == 0)
            return 0;
        pos += 1 + part;
    }
    if (is_at(s, pos, 'e', 'E')) {
        *is_integer = false;
        pos += 1u + is_at(s, pos + 1, '+', '-');
        const size_t exponent = digits(s, pos);
        if (exponent == 0)
            return 0;
        pos += exponent;
    }
    return pos;
}

static bool to_integer(const char *at, size_t length, int64_t *integer)
{
    const bool is_negative = at[0] == '-';
    int64_t value = 0; /* built from negative numbers: their range is larger */
    for (size_t i = is_negative; i < length; i++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, (int64_t)(at[i] - '0'), &value))
            return false;
    }
    if (!is_negative && value == INT64_MIN)
        return false;
    *integer = is_negative ? value : -value;
    return true;
}

takt_status takt_json_scan_number(takt_json_scan *s, takt_json *value)
{
    bool is_integer;
    const char *at = s->at + s->pos;
    const size_t end = number_end(s, &is_integer);
    if (end == 0)
        return takt_json_fail_at(s, s->pos, "this is not a JSON number");
    const size_t length = end - s->pos;
    if (!takt_number_read(at, length, &value->number) || !isfinite(value->number))
        return takt_json_fail_at(s, s->pos, "the number is too large for a double");
    value->kind = TAKT_JSON_NUMBER;
    value->is_integer = is_integer && to_integer(at, length, &value->integer);
    s->pos = end;
    return TAKT_OK;
}

takt_status takt_json_scan_word(takt_json_scan *s, takt_json *value)
{
    static const struct {
        const char *word;
        takt_json_kind kind;
        bool boolean;
    } words[] = {
        {"true", TAKT_JSON_BOOL, true},
        {"false", TAKT_JSON_BOOL, false},
        {"null", TAKT_JSON_NULL, false},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].word);
        if (s->length - s->pos < length || memcmp(s->at + s->pos, words[i].word, length) != 0)
            continue;
        value->kind = words[i].kind;
        value->boolean = words[i].boolean;
        s->pos += length;
        return TAKT_OK;
    }
    return takt_json_expected(s, "a value");
}
