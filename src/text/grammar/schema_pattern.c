/* schema_pattern.c - translates regular expressions of a schema to GBNF.
 *
 * The text is the inside of a JSON string: quotes, backslashes and control characters do not occur.
 */
#include <string.h>

#include "text/grammar/schema.h"

typedef struct pattern {
    takt_schema *s;
    const takt_json *v;
    const char *at;
    takt_text *to;
    int open;
} pattern;

static void refuse(pattern *p, const char *what)
{
    takt_schema_refuse(p->s, p->v, what);
}

/* The contents of a character class, inside brackets; NULL: a plain character. */
static const char *shorthand(char c)
{
    return c == 'd' ? "0-9" : c == 'w' ? "a-zA-Z0-9_" : c == 's' ? " " : NULL;
}

static void put_class_character(pattern *p, char c)
{
    if (c == '"' || (unsigned char)c < 0x20)
        refuse(p, "a quote or control character in a pattern");
    takt_text_add(p->to, c == ']' || c == '[' || c == '\\' || c == '^' ? "\\%c" : "%c", c);
}

/* A range of characters must not contain those that end a string or begin an escape. */
static void check_range(pattern *p)
{
    if (p->at[1] != '-' || p->at[2] == ']' || p->at[2] == '\0')
        return;
    const unsigned char low = (unsigned char)p->at[0], high = (unsigned char)p->at[2];
    if ((low <= '"' && high >= '"') || (low <= '\\' && high >= '\\'))
        refuse(p, "a class with a quote or backslash inside a range");
}

static void put_class(pattern *p)
{
    const bool is_negated = p->at[0] == '^';
    p->at += is_negated;
    takt_text_add(p->to, is_negated ? "[^\"\\\\\\x00-\\x1F\\x7F" : "[");
    for (bool first = true; *p->at != '\0' && (*p->at != ']' || first); first = false) {
        if (*p->at != '\\') {
            check_range(p);
            put_class_character(p, *p->at++);
            continue;
        }
        const char c = p->at[1];
        p->at += c != '\0' ? 2 : 1;
        if (shorthand(c) != NULL)
            takt_text_add(p->to, "%s", shorthand(c));
        else if (c == '-')
            takt_text_add(p->to, "\\-");
        else if (strchr(".^$*+?()[]{}|/", c) != NULL && c != '\0')
            put_class_character(p, c);
        else
            refuse(p, "an escape in a pattern");
    }
    if (*p->at != ']')
        refuse(p, "a pattern whose [ is not closed");
    p->at += *p->at == ']';
    takt_text_add(p->to, "] ");
}

static void put_escape(pattern *p)
{
    const char c = *p->at;
    p->at += c != '\0';
    if (shorthand(c) != NULL)
        takt_text_add(p->to, "[%s] ", shorthand(c));
    else if (c != '\0' && strchr(".^$*+?()[]{}|/-", c) != NULL)
        takt_text_add(p->to, "\"%c\" ", c);
    else
        refuse(p, "an escape in a pattern");
}

static void put_group(pattern *p)
{
    if (p->at[0] == '?' && p->at[1] != ':')
        refuse(p, "a pattern that looks ahead, or names groups,");
    p->at += p->at[0] == '?' ? 2 : 0;
    p->open++;
    takt_text_add(p->to, "(");
}

/* A repeat follows what it repeats, without a space. */
static void close_up(const pattern *p)
{
    p->to->length -= p->to->length > 0 && p->to->at[p->to->length - 1] == ' ';
}

/* {2,5}, unchanged. */
static void put_braces(pattern *p)
{
    const size_t length = strspn(p->at, "0123456789,");
    if (length == 0 || p->at[length] != '}')
        refuse(p, "a pattern whose { is not a repeat");
    close_up(p);
    takt_text_add(p->to, "{%.*s} ", (int)length, p->at);
    p->at += length + (p->at[length] == '}');
}

static void put_plain(pattern *p, char c)
{
    const unsigned char u = (unsigned char)c;
    if (c == '"' || u < 0x20)
        refuse(p, "a quote or control character in a pattern");
    /* A character of several bytes is one literal. */
    size_t length = u >= 0xF0 ? 4 : u >= 0xE0 ? 3 : u >= 0xC0 ? 2 : 1;
    takt_text_put(p->to, "\"", 1);
    takt_text_put(p->to, p->at - 1, length);
    takt_text_put(p->to, "\" ", 2);
    p->at += length - 1;
}

static void put_part(pattern *p)
{
    const char c = *p->at++;
    switch (c) {
    case '\\': put_escape(p); break;
    case '[': put_class(p); break;
    case '(': put_group(p); break;
    case '{': put_braces(p); break;
    case '.': takt_text_add(p->to, "[^\"\\\\\\x00-\\x1F\\x7F] "); break;
    case '|': takt_text_add(p->to, "| "); break;
    case '*':
    case '+':
    case '?':
        if (p->at[0] == '?' || p->at[0] == '+')
            refuse(p, "a lazy or possessive repeat in a pattern");
        close_up(p);
        takt_text_add(p->to, "%c ", c);
        break;
    case ')':
        p->open--;
        takt_text_add(p->to, ") ");
        break;
    case '^':
    case '$': refuse(p, "an anchor within a pattern"); break;
    default: put_plain(p, c); break;
    }
}

void takt_schema_pattern(takt_schema *s, const takt_json *v, takt_text *to)
{
    pattern p = {.s = s, .v = v, .at = v->text, .to = to};
    const size_t length = v->text_length;
    const char *end = v->text + length - 1;
    if (length < 2 || v->text[0] != '^' || *end != '$' || end[-1] == '\\') {
        refuse(&p, "a pattern that does not begin with ^ and end with $");
        return;
    }
    for (p.at++; p.at < end && s->status == TAKT_OK && p.open >= 0;)
        put_part(&p);
    if (p.open != 0 || p.at > end)
        refuse(&p, "a pattern whose brackets do not fit");
}
