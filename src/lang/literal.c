/* literal.c - tokens with content: numbers, strings, hex data, quoted names. */
#include "lang/literal.h"

#include <string.h>

#include "base/number.h"
#include "base/size.h"
#include "base/utf8.h"
#include "base/written.h"

static void bad(takt_lexer *lexer, takt_token *token, const char *problem, const char *hint)
{
    token->kind = TAKT_T_BAD;
    lexer->problem = problem;
    lexer->hint = hint;
    lexer->is_literal = true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* 0..15, or -1. */
static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- numbers ---- */

static size_t digits(const char *text, size_t length, size_t at)
{
    while (at < length && is_digit(text[at]))
        at++;
    return at;
}

/* Length of 12, 1.5, .5, 2e-3; `*is_decimal` unless it is a plain integer. */
static size_t number_length(const char *text, size_t length, bool *is_decimal)
{
    size_t n = digits(text, length, 0);
    *is_decimal = false;
    if (n < length && text[n] == '.' && !(n + 1 < length && text[n + 1] == '.')) {
        *is_decimal = true;
        n = digits(text, length, n + 1);
    }
    if (n < length && (text[n] == 'e' || text[n] == 'E')) {
        size_t exponent = n + 1;
        if (exponent < length && (text[exponent] == '+' || text[exponent] == '-'))
            exponent++;
        if (exponent < length && is_digit(text[exponent])) {
            *is_decimal = true;
            n = digits(text, length, exponent);
        }
    }
    return n;
}

static bool read_integer(const char *text, size_t length, uint64_t base, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < length; i++) {
        const int digit = hex_digit(text[i]);
        if (__builtin_mul_overflow(*value, base, value) ||
            __builtin_add_overflow(*value, (uint64_t)digit, value))
            return false;
    }
    return true;
}

static void hexadecimal(takt_lexer *lexer, takt_token *token, const char *text, size_t left)
{
    size_t n = 2;
    while (n < left && hex_digit(text[n]) >= 0)
        n++;
    token->length = n;
    token->kind = TAKT_T_INTEGER;
    if (n == 2)
        bad(lexer, token, "there are no digits after 0x", "");
    else if (!read_integer(text + 2, n - 2, 16, &token->integer))
        bad(lexer, token, "the number does not fit 64 bits", "");
}

void takt_lex_number(takt_lexer *lexer, takt_token *token)
{
    const char *text = lexer->source->text + lexer->at;
    const size_t left = lexer->source->length - lexer->at;
    if (left > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        hexadecimal(lexer, token, text, left);
    } else {
        bool is_decimal;
        token->length = number_length(text, left, &is_decimal);
        token->kind = TAKT_T_INTEGER;
        if (is_decimal || !read_integer(text, token->length, 10, &token->integer)) {
            token->kind = TAKT_T_DECIMAL;
            if (!takt_number_read(text, token->length, &token->number))
                bad(lexer, token, "this is not a number", "");
        }
    }
    if (token->kind != TAKT_T_BAD && token->length < left && is_word(text[token->length])) {
        while (token->length < left && is_word(text[token->length]))
            token->length++;
        bad(lexer, token, "a number runs into a word",
            "names begin with a letter; put a space or an operator between");
    }
}

/* ---- strings ---- */

/* Bytes up to the closing `quote` that no backslash precedes; SIZE_MAX if the line ends first. */
static size_t closing(const char *text, size_t left, size_t at, char quote)
{
    for (; at < left && text[at] != '\n'; at++) {
        if (text[at] == quote)
            return at;
        if (text[at] == '\\' && at + 1 < left && text[at + 1] != '\n')
            at++;
    }
    return SIZE_MAX;
}

static bool quoted_text(takt_lexer *lexer, takt_token *token, char quote, takt_span *out)
{
    const char *text = lexer->source->text + lexer->at;
    const size_t left = lexer->source->length - lexer->at;
    const size_t end = closing(text, left, 1, quote);
    token->length = 1;
    if (end == SIZE_MAX) {
        const char *line_end = memchr(text, '\n', left);
        token->length = line_end != NULL ? (size_t)(line_end - text) : left;
        bad(lexer, token, "the closing quote is missing", "close it on the same line");
        return false;
    }
    token->length = end + 1;
    char *to = takt_arena_get(lexer->arena, end);
    size_t length = 0;
    if (to == NULL) {
        bad(lexer, token, NULL, "");
        return false;
    }
    if (!takt_quoted_read(text + 1, end - 1, to, &length)) {
        bad(lexer, token, "there is an unknown escape", "known: \\\" \\\\ \\` \\n \\t \\u{1F600}");
        return false;
    }
    if (takt_utf8_check(to, length) != length || memchr(to, '\0', length) != NULL) {
        bad(lexer, token, "the text in quotes is not UTF-8, or has a NUL", "");
        return false;
    }
    *out = (takt_span){to, length};
    return true;
}

void takt_lex_string(takt_lexer *lexer, takt_token *token)
{
    token->kind = TAKT_T_STRING;
    if (!quoted_text(lexer, token, '"', &token->text))
        token->kind = TAKT_T_BAD;
}

void takt_lex_quoted(takt_lexer *lexer, takt_token *token)
{
    takt_span text;
    token->kind = TAKT_T_NAME;
    token->is_quoted = true;
    if (!quoted_text(lexer, token, '`', &text))
        return;
    if (text.length == 0 || text.length > lexer->arena->ctx->limits.name_bytes) {
        bad(lexer, token, "the name is empty, or longer than the context's limit allows", "");
        return;
    }
    token->name = takt_symbol_make(lexer->symbols, text.at, text.length);
    if (token->name == NULL)
        bad(lexer, token, NULL, "");
}

void takt_lex_hex(takt_lexer *lexer, takt_token *token)
{
    const char *text = lexer->source->text + lexer->at;
    const size_t left = lexer->source->length - lexer->at;
    size_t n = 4; /* after hex" */
    while (n < left && hex_digit(text[n]) >= 0)
        n++;
    token->length = n;
    token->kind = TAKT_T_HEX;
    token->text = (takt_span){text + 4, n - 4};
    if (n >= left || text[n] != '"')
        bad(lexer, token, "hex data has something other than hexadecimal digits", "");
    else if ((n - 4) % 2 != 0)
        bad(lexer, token, "hex data has half a byte at its end", "two digits make one byte");
    else
        token->length = n + 1;
}
