/* gbnf_chars.c - literals and classes of characters in GBNF. */
#include <string.h>

#include "base/utf8.h"
#include "text/grammar/gbnf.h"

static uint32_t take_hex(takt_gparser *p, size_t digits)
{
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        const char c = takt_gbnf_peek(p);
        const bool is_digit = c >= '0' && c <= '9', is_low = c >= 'a' && c <= 'f';
        if (!is_digit && !is_low && !(c >= 'A' && c <= 'F')) {
            takt_gbnf_fail(p, TAKT_E_GRAMMAR, "%zu hexadecimal digits were expected", digits);
            return 0;
        }
        value = value << 4 | (uint32_t)(is_digit ? c - '0' : is_low ? c - 'a' + 10 : c - 'A' + 10);
        p->pos++;
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "there is no character %X", value);
    return value;
}

static uint32_t take_character(takt_gparser *p)
{
    static const char from[] = "nrt\\\"[]'-^", to[] = "\n\r\t\\\"[]'-^";
    const size_t n = takt_utf8_length(p->at + p->pos, p->length - p->pos);
    const unsigned char *s = (const unsigned char *)p->at + p->pos;
    if (n == 0) {
        takt_gbnf_fail(p, TAKT_E_GRAMMAR,
                       p->pos < p->length ? "a character is not UTF-8"
                                          : "the grammar ends within \"...\" or [...]");
        return 0;
    }
    p->pos += n;
    p->line += s[0] == '\n';
    if (s[0] != '\\')
        return n == 1   ? s[0]
               : n == 2 ? (s[0] & 31u) << 6 | (s[1] & 63u)
               : n == 3 ? (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u)
                        : (s[0] & 7u) << 18 | (s[1] & 63u) << 12 | (s[2] & 63u) << 6 | (s[3] & 63u);
    const char c = takt_gbnf_peek(p);
    p->pos++;
    if (c == 'x' || c == 'u' || c == 'U')
        return take_hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8);
    const char *known = c != '\0' ? strchr(from, c) : NULL;
    if (known == NULL)
        takt_gbnf_fail(p, TAKT_E_GRAMMAR, "there is no escape \\%c", c >= 0x20 ? c : '?');
    return known != NULL ? (unsigned char)to[known - from] : 0;
}

takt_gnode *takt_gbnf_one_of(takt_gparser *p, takt_grange *ranges, size_t count)
{
    takt_gnode *n = takt_gbnf_node(p, TAKT_GN_CHARS);
    takt_grange *copy = takt_arena_array(&p->g->arena, count + 2, sizeof *copy);
    if (copy == NULL) {
        p->status = TAKT_ERR_MEMORY;
        return n;
    }
    memcpy(copy, ranges, count * sizeof *copy);
    n->ranges = copy;
    n->range_count = count;
    return n;
}

/* Sorts them and joins adjacent ones; returns how many are left. */
static size_t tidy(takt_grange *r, size_t count)
{
    size_t kept = 0;
    for (size_t i = 1; i < count; i++) /* few, mostly in order */
        for (size_t k = i; k > 0 && r[k - 1].from > r[k].from; k--) {
            const takt_grange moved = r[k];
            r[k] = r[k - 1];
            r[k - 1] = moved;
        }
    for (size_t i = 0; i < count; i++) {
        if (kept > 0 && r[i].from <= r[kept - 1].to + 1) {
            r[kept - 1].to = r[i].to > r[kept - 1].to ? r[i].to : r[kept - 1].to;
            continue;
        }
        r[kept++] = r[i];
    }
    return kept;
}

/* The complement; in place, with room for one more. */
static size_t complement(takt_grange *r, size_t count, size_t room)
{
    takt_grange others[130];
    size_t n = 0;
    uint32_t from = 0;
    for (size_t i = 0; i < count && n < room; i++) {
        if (r[i].from > from)
            others[n++] = (takt_grange){from, r[i].from - 1};
        from = r[i].to + 1;
    }
    if (from <= 0x10FFFF)
        others[n++] = (takt_grange){from, 0x10FFFF};
    memcpy(r, others, n * sizeof *r);
    return n;
}

enum { RANGES = 128 };

takt_gnode *takt_gbnf_class(takt_gparser *p)
{
    takt_grange ranges[RANGES + 2];
    size_t count = 0;
    const bool is_negated = takt_gbnf_skip(p, "^");
    while (p->status == TAKT_OK && !takt_gbnf_skip(p, "]")) {
        const uint32_t from = take_character(p);
        uint32_t to = from;
        if (takt_gbnf_peek(p) == '-' && p->pos + 1 < p->length && p->at[p->pos + 1] != ']') {
            p->pos++;
            to = take_character(p);
        }
        if (to < from)
            takt_gbnf_fail(p, TAKT_E_GRAMMAR, "a range ends before it begins");
        if (count == RANGES)
            takt_gbnf_fail(p, TAKT_E_GRAMMAR_LIMIT, "more than %d ranges in one class", RANGES);
        else
            ranges[count++] = (takt_grange){from, to};
    }
    count = tidy(ranges, count);
    if (is_negated)
        count = complement(ranges, count, RANGES);
    return takt_gbnf_one_of(p, ranges, count);
}

takt_gnode *takt_gbnf_literal(takt_gparser *p)
{
    takt_gnode *n = takt_gbnf_node(p, TAKT_GN_SEQUENCE);
    while (p->status == TAKT_OK && !takt_gbnf_skip(p, "\"")) {
        const uint32_t c = take_character(p);
        takt_grange range = {c, c};
        takt_gbnf_add(p, n, takt_gbnf_one_of(p, &range, 1));
    }
    return n;
}
