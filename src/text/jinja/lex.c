/* lex.c - a template as tokens: text, and the contents of {{ }} and {% %}. */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "text/jinja/jinja.h"

typedef struct lexer {
    takt_jinja *j;
    const char *at;
    size_t length, pos;
    uint32_t line;
    size_t capacity;
    bool begins_line; /* the next token is at the beginning of a line */
    bool is_stripped; /* the previous tag ended with -: white space after it is removed */
} lexer;

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void add(lexer *l, takt_jtoken_kind kind, takt_span text)
{
    takt_jinja *j = l->j;
    if (j->status != TAKT_OK)
        return;
    if (j->token_count == l->capacity) {
        const size_t room = l->capacity > 0 ? 2 * l->capacity : 256;
        takt_jtoken *more = takt_arena_array(&j->arena, room, sizeof *more);
        if (more == NULL) {
            j->status = TAKT_ERR_MEMORY;
            return;
        }
        if (j->token_count > 0)
            memcpy(more, j->tokens, j->token_count * sizeof *more);
        j->tokens = more;
        l->capacity = room;
    }
    j->tokens[j->token_count++] = (takt_jtoken){kind, l->line, text};
}

static bool begins(const lexer *l, size_t pos, const char *with)
{
    const size_t n = strlen(with);
    return l->length - pos >= n && memcmp(l->at + pos, with, n) == 0;
}

/* The next {{, {% or {#. */
static size_t next_tag(const lexer *l)
{
    for (size_t i = l->pos; i + 1 < l->length; i++)
        if (l->at[i] == '{' && (l->at[i + 1] == '{' || l->at[i + 1] == '%' || l->at[i + 1] == '#'))
            return i;
    return l->length;
}

static void pass(lexer *l, size_t to)
{
    for (size_t i = l->pos; i < to; i++)
        l->line += l->at[i] == '\n';
    l->pos = to;
}

/* The text before a tag at `end`, trimmed as - and the two trim settings require. */
static void put_data(lexer *l, size_t end)
{
    size_t from = l->pos, to = end;
    const bool has_tag = end < l->length;
    const char mark = has_tag && end + 2 < l->length ? l->at[end + 2] : '\0';
    if (l->is_stripped)
        while (from < to && is_space(l->at[from]))
            from++;
    if (has_tag && mark == '-') {
        while (to > from && is_space(l->at[to - 1]))
            to--;
    } else if (has_tag && mark != '+' && l->at[end + 1] != '{') {
        size_t begin = to;
        while (begin > from && (l->at[begin - 1] == ' ' || l->at[begin - 1] == '\t'))
            begin--;
        const bool is_start = begin > from ? l->at[begin - 1] == '\n' : l->begins_line;
        if (is_start)
            to = begin;
    }
    if (to > from)
        add(l, TAKT_JT_DATA, (takt_span){l->at + from, to - from});
    pass(l, end);
}

/* After a tag: removes the first line end if it was a block or a comment. */
static void end_tag(lexer *l, bool strips, bool trims)
{
    l->is_stripped = strips;
    l->begins_line = false;
    if (!strips && trims && l->pos < l->length && l->at[l->pos] == '\n') {
        pass(l, l->pos + 1);
        l->begins_line = true;
    }
}

static void lex_comment(lexer *l)
{
    size_t end = l->pos + 2;
    while (end < l->length && !begins(l, end, "#}"))
        end++;
    if (end >= l->length) {
        takt_jinja_fail(l->j, TAKT_E_TEMPLATE, l->line, "a comment is not closed");
        return;
    }
    const char mark = end > l->pos + 2 ? l->at[end - 1] : '\0';
    pass(l, end + 2);
    end_tag(l, mark == '-', mark != '+');
}

/* ---- strings ---- */

static uint32_t hex(const lexer *l, size_t at, size_t digits)
{
    uint32_t value = 0;
    for (size_t i = at; i < at + digits; i++) {
        const char c = i < l->length ? l->at[i] : '\0';
        const bool is_low = c >= 'a' && c <= 'f', is_high = c >= 'A' && c <= 'F';
        if (!is_digit(c) && !is_low && !is_high)
            return UINT32_MAX;
        value = value << 4 | (uint32_t)(is_digit(c) ? c - '0'
                                        : is_low    ? c - 'a' + 10
                                                    : c - 'A' + 10);
    }
    return value;
}

/* One escape at `i`, after the backslash; returns its number of bytes. */
static size_t unescape(const lexer *l, size_t i, char *to, size_t *length)
{
    static const char from[] = "nrtbfva0\\'\"", into[] = "\n\r\t\b\f\v\a\0\\'\"";
    const char c = l->at[i];
    const char *known = memchr(from, c, sizeof from - 1);
    if (known != NULL) {
        to[(*length)++] = into[known - from];
        return 1;
    }
    if (c == '\n')
        return 1;
    const size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const uint32_t value = digits > 0 ? hex(l, i + 1, digits) : UINT32_MAX;
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) {
        to[(*length)++] = '\\';
        return 0;
    }
    char bytes[4];
    const size_t n = takt_utf8_put(value, bytes);
    memcpy(to + *length, bytes, n);
    *length += n;
    return digits + 1;
}

static void lex_string(lexer *l)
{
    const char quote = l->at[l->pos];
    size_t end = l->pos + 1, length = 0;
    while (end < l->length && l->at[end] != quote)
        end += l->at[end] == '\\' && end + 1 < l->length ? 2 : 1;
    if (end >= l->length) {
        takt_jinja_fail(l->j, TAKT_E_TEMPLATE, l->line, "a string is not closed");
        return;
    }
    char *to = takt_arena_get(&l->j->arena, end - l->pos + 4);
    if (to == NULL) {
        l->j->status = TAKT_ERR_MEMORY;
        return;
    }
    for (size_t i = l->pos + 1; i < end;) {
        if (l->at[i] == '\\')
            i += 1 + unescape(l, i + 1, to, &length);
        else
            to[length++] = l->at[i++];
    }
    add(l, TAKT_JT_TEXT, (takt_span){to, length});
    pass(l, end + 1);
}

/* ---- the inside of a tag ---- */

static void lex_number(lexer *l)
{
    size_t end = l->pos;
    bool is_float = false;
    while (end < l->length && (is_digit(l->at[end]) || l->at[end] == '_'))
        end++;
    if (end + 1 < l->length && l->at[end] == '.' && is_digit(l->at[end + 1])) {
        is_float = true;
        for (end++; end < l->length && is_digit(l->at[end]);)
            end++;
    }
    if (end + 1 < l->length && (l->at[end] == 'e' || l->at[end] == 'E')) {
        size_t exponent = end + 1;
        exponent += l->at[exponent] == '+' || l->at[exponent] == '-';
        if (exponent < l->length && is_digit(l->at[exponent])) {
            is_float = true;
            for (end = exponent; end < l->length && is_digit(l->at[end]);)
                end++;
        }
    }
    add(l, is_float ? TAKT_JT_FLOAT : TAKT_JT_INT, (takt_span){l->at + l->pos, end - l->pos});
    l->pos = end;
}

static void lex_sign(lexer *l)
{
    static const char *const signs[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "*",
                                        "/",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                        ">",  "<",  "=",  ".",  ":",  ",",  "|"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (begins(l, l->pos, signs[i])) {
            add(l, TAKT_JT_SIGN, takt_span_of(signs[i]));
            l->pos += strlen(signs[i]);
            return;
        }
    const unsigned char c = (unsigned char)l->at[l->pos];
    takt_jinja_fail(
        l->j, TAKT_E_TEMPLATE, l->line,
        c >= 0x20 && c < 0x7F ? "unexpected character '%c'" : "unexpected character \\x%02X", c);
}

static void lex_word(lexer *l)
{
    const char c = l->at[l->pos];
    size_t end = l->pos;
    if (c == '"' || c == '\'') {
        lex_string(l);
    } else if (is_digit(c)) {
        lex_number(l);
    } else if (is_letter(c)) {
        while (end < l->length && (is_letter(l->at[end]) || is_digit(l->at[end])))
            end++;
        add(l, TAKT_JT_NAME, (takt_span){l->at + l->pos, end - l->pos});
        l->pos = end;
    } else {
        lex_sign(l);
    }
}

/* Whether the tag ends here; open braces inside {{ }} come first. */
static bool ends_tag(lexer *l, const char *closing, size_t open)
{
    const char c = l->at[l->pos];
    const bool is_marked = (c == '-' || c == '+') && begins(l, l->pos + 1, closing);
    if (open > 0 || (!is_marked && !begins(l, l->pos, closing)))
        return false;
    const bool is_block = closing[0] == '%';
    pass(l, l->pos + (is_marked ? 3 : 2));
    add(l, is_block ? TAKT_JT_BLOCK_END : TAKT_JT_PRINT_END, takt_span_of(closing));
    end_tag(l, is_marked && c == '-', is_block && !(is_marked && c == '+'));
    return true;
}

static void lex_tag(lexer *l)
{
    const bool is_block = l->at[l->pos + 1] == '%';
    const char *closing = is_block ? "%}" : "}}";
    const uint32_t line = l->line;
    size_t open = 0;
    add(l, is_block ? TAKT_JT_BLOCK : TAKT_JT_PRINT, takt_span_of(is_block ? "{%" : "{{"));
    l->pos += 2;
    if (l->pos < l->length && (l->at[l->pos] == '-' || l->at[l->pos] == '+'))
        l->pos++;
    while (l->j->status == TAKT_OK) {
        while (l->pos < l->length && is_space(l->at[l->pos]))
            pass(l, l->pos + 1);
        if (l->pos >= l->length) {
            takt_jinja_fail(l->j, TAKT_E_TEMPLATE, line, "%s is not closed",
                            is_block ? "{%" : "{{");
            return;
        }
        if (ends_tag(l, closing, open))
            return;
        const char c = l->at[l->pos];
        if (c == '{' || c == '[' || c == '(')
            open++;
        else if ((c == '}' || c == ']' || c == ')') && open > 0)
            open--;
        lex_word(l);
    }
}

/* {% raw %} ... {% endraw %}: all of it is text. False if it is another tag. */
static bool lex_raw(lexer *l)
{
    size_t i = l->pos + 2, end;
    i += i < l->length && (l->at[i] == '-' || l->at[i] == '+');
    while (i < l->length && is_space(l->at[i]))
        i++;
    if (l->at[l->pos + 1] != '%' || !begins(l, i, "raw"))
        return false;
    for (i += 3; i < l->length && (is_space(l->at[i]) || l->at[i] == '-');)
        i++;
    if (!begins(l, i, "%}"))
        return false;
    const bool strips = l->at[i - 1] == '-';
    pass(l, i + 2);
    end_tag(l, strips, true);
    for (end = l->pos; end < l->length; end++) {
        size_t k = end + 2;
        if (!begins(l, end, "{%"))
            continue;
        while (k < l->length && (is_space(l->at[k]) || l->at[k] == '-'))
            k++;
        if (!begins(l, k, "endraw"))
            continue;
        for (k += 6; k < l->length && (is_space(l->at[k]) || l->at[k] == '-');)
            k++;
        if (!begins(l, k, "%}"))
            continue;
        put_data(l, end);
        pass(l, k + 2);
        end_tag(l, l->at[k - 1] == '-', true);
        return true;
    }
    takt_jinja_fail(l->j, TAKT_E_TEMPLATE, l->line, "{%% raw %%} is not closed");
    return true;
}

/* \r\n and \r become \n; one line end at the very end is removed. */
static takt_span plain_lines(takt_jinja *j, takt_span text)
{
    char *to = takt_arena_get(&j->arena, text.length + 1);
    size_t length = 0;
    if (to == NULL) {
        j->status = TAKT_ERR_MEMORY;
        return (takt_span){"", 0};
    }
    for (size_t i = 0; i < text.length; i++) {
        const bool is_return = text.at[i] == '\r';
        if (is_return && i + 1 < text.length && text.at[i + 1] == '\n')
            i++;
        to[length++] = is_return ? '\n' : text.at[i];
    }
    length -= length > 0 && to[length - 1] == '\n';
    to[length] = '\0';
    return (takt_span){to, length};
}

takt_status takt_jinja_lex(takt_jinja *j, takt_span text)
{
    const takt_span plain = plain_lines(j, text);
    lexer l = {.j = j, .at = plain.at, .length = plain.length, .line = 1, .begins_line = true};
    while (j->status == TAKT_OK && l.pos < l.length) {
        put_data(&l, next_tag(&l));
        if (l.pos >= l.length || j->status != TAKT_OK)
            break;
        if (l.at[l.pos + 1] == '#')
            lex_comment(&l);
        else if (!lex_raw(&l))
            lex_tag(&l);
    }
    add(&l, TAKT_JT_END, takt_span_of("end of the template"));
    return j->status;
}
