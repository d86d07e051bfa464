/* scan.c - the end of the next word. */
#include "text/scan.h"

#include <string.h>

#include "text/unicode.h"

/* ---- one word ---- */

typedef struct scanner {
    const takt_scan *s;
    takt_span text;
    size_t end; /* the characters scanned */
} scanner;

/* The character at `at` and its bytes; at the end 0 and 0. */
static uint32_t look(const scanner *w, size_t at, size_t *bytes)
{
    *bytes = 0;
    return at < w->end ? takt_unicode_take(w->text.at + at, w->end - at, bytes) : 0;
}

static bool is_mark(uint32_t c)
{
    const takt_unicode_class k = c < 0x300 ? TAKT_U_OTHER : takt_unicode_class_of(c);
    return k == TAKT_U_MN || k == TAKT_U_M;
}

static bool is_letter_or_mark(uint32_t c)
{
    return takt_unicode_is_letter(c) || is_mark(c);
}

static bool is_other_than_mark(uint32_t c)
{
    return !takt_unicode_is_space(c) && !is_letter_or_mark(c) && !takt_unicode_is_number(c);
}

static bool is_other(uint32_t c)
{
    return !takt_unicode_is_space(c) && !takt_unicode_is_letter(c) && !takt_unicode_is_number(c);
}

typedef bool char_fn(uint32_t c);

/* The end of a run of characters of a kind from `at` on; at most `most` of them, 0: any number. */
static size_t run_of(const scanner *w, size_t at, char_fn *is, unsigned most)
{
    size_t bytes;
    for (unsigned n = 0; most == 0 || n < most; n++) {
        const uint32_t c = look(w, at, &bytes);
        if (bytes == 0 || !is(c))
            break;
        at += bytes;
    }
    return at;
}

static bool is_line_end(uint32_t c)
{
    return c == '\r' || c == '\n';
}

static bool is_line_end_or_slash(uint32_t c)
{
    return is_line_end(c) || c == '/';
}

/* 's 't 're 've 'm 'll 'd; 0: none. */
static size_t contraction(const scanner *w, size_t at)
{
    char c[2] = {0};
    if (w->text.at[at] != '\'')
        return 0;
    for (size_t i = 0; i < 2 && at + 1 + i < w->end; i++) {
        c[i] = w->text.at[at + 1 + i];
        if (w->s->any_case && c[i] >= 'A' && c[i] <= 'Z')
            c[i] = (char)(c[i] + 32);
    }
    if (c[0] == 's' || c[0] == 't' || c[0] == 'm' || c[0] == 'd')
        return at + 2;
    const bool is_two = (c[0] == 'r' && c[1] == 'e') || (c[0] == 'v' && c[1] == 'e') ||
                        (c[0] == 'l' && c[1] == 'l');
    return is_two ? at + 3 : 0;
}

/* Letters, and the one character before them. */
static size_t letters(const scanner *w, size_t at)
{
    char_fn *is = w->s->has_marks ? is_letter_or_mark : takt_unicode_is_letter;
    size_t bytes;
    const uint32_t c = look(w, at, &bytes);
    if (takt_unicode_is_letter(c))
        return run_of(w, at, is, 0);
    const bool joins = w->s->joins_any ? !is_line_end(c) && !takt_unicode_is_number(c) : c == ' ';
    const size_t end = joins ? run_of(w, at + bytes, is, 0) : at;
    if (end > at + bytes)
        return end;
    const size_t marks = run_of(w, at, is, 0); /* one followed by nothing */
    return marks > at ? marks : 0;
}

/* ---- words that begin with capitals ---- */

static bool is_upper(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z';
    const takt_unicode_class k = takt_unicode_class_of(c);
    return k == TAKT_U_LU || (k >= TAKT_U_LT && k <= TAKT_U_M);
}

static bool is_lower(uint32_t c)
{
    if (c < 0x80)
        return c >= 'a' && c <= 'z';
    const takt_unicode_class k = takt_unicode_class_of(c);
    return k == TAKT_U_LL || (k >= TAKT_U_LM && k <= TAKT_U_M);
}

/* Capitals, then at least one small letter. Characters without case count as both, so the last one
 * may serve as the small letter. */
static size_t small_word(const scanner *w, size_t from)
{
    const size_t capitals = run_of(w, from, is_upper, 0);
    const size_t end = run_of(w, capitals, is_lower, 0);
    size_t both = 0;
    if (end > capitals)
        return end;
    for (size_t at = from, bytes; at < capitals; at += bytes)
        if (is_lower(look(w, at, &bytes)))
            both = at + bytes;
    return both;
}

static size_t capital_word(const scanner *w, size_t from)
{
    const size_t end = run_of(w, from, is_upper, 0);
    return end > from ? end : 0;
}

/* One of these, after at most one character that is neither letter, number nor line end, and
 * followed by an optional contraction. */
static size_t cased(const scanner *w, size_t at)
{
    size_t bytes;
    const uint32_t c = look(w, at, &bytes);
    const bool joins = !takt_unicode_is_letter(c) && !takt_unicode_is_number(c) && !is_line_end(c);
    size_t end = joins ? small_word(w, at + bytes) : 0;
    if (end == 0)
        end = small_word(w, at);
    if (end == 0 && joins)
        end = capital_word(w, at + bytes);
    if (end == 0)
        end = capital_word(w, at);
    const size_t more = end > 0 && end < w->end && w->s->is_contracted ? contraction(w, end) : 0;
    return more > 0 ? more : end;
}

/* ---- words of BLOOM ---- */

static bool is_bloom(uint32_t c)
{
    static const uint32_t not [] = {'(',    ')',    '|',    '.',    ',',   '!',   '?',
                                    0x2026, 0x3002, 0xFF0C, 0x3001, 0x964, 0x6D4, 0x60C};
    for (size_t i = 0; i < sizeof not / sizeof *not ; i++)
        if (c == not [i])
            return false;
    return !takt_unicode_is_space(c);
}

/* A BLOOM word with the space before it, or everything up to the next one. */
static size_t bloom_word(const scanner *w, size_t at)
{
    for (size_t from = at, bytes; from < w->end; from += bytes) {
        const uint32_t c = look(w, from, &bytes);
        const size_t end = run_of(w, c == ' ' ? from + 1 : from, is_bloom, 0);
        if (end > from + (c == ' '))
            return from == at ? end : from;
    }
    return w->end;
}

static size_t numbers(const scanner *w, size_t at)
{
    const size_t from = w->s->digits == 0 && w->text.at[at] == ' ' ? at + 1 : at;
    const size_t end = run_of(w, from, takt_unicode_is_number, w->s->digits);
    return end > from ? end : 0;
}

static size_t others(const scanner *w, size_t at)
{
    const size_t from = w->text.at[at] == ' ' ? at + 1 : at;
    const size_t end = run_of(w, from, w->s->has_marks ? is_other_than_mark : is_other, 0);
    if (end == from)
        return 0;
    if (w->s->joins_slashes)
        return run_of(w, end, is_line_end_or_slash, 0);
    return w->s->joins_lines ? run_of(w, end, is_line_end, 0) : end;
}

/* White space up to its last line end; or all but its last character, which belongs to the next
 * word. */
static size_t spaces(const scanner *w, size_t at)
{
    size_t end = at, last = at, lines = at, bytes;
    uint32_t c;
    while (c = look(w, end, &bytes), bytes > 0 && takt_unicode_is_space(c)) {
        last = end;
        end += bytes;
        if (is_line_end(c))
            lines = end;
    }
    if ((w->s->joins_lines || w->s->leaves_lines) && lines > at)
        return lines;
    return end == w->end || last == at ? end : last;
}

static size_t word(const scanner *w, size_t at)
{
    size_t end = w->s->is_cased ? cased(w, at) : contraction(w, at);
    if (end == 0 && !w->s->is_cased)
        end = letters(w, at);
    if (end == 0)
        end = numbers(w, at);
    if (end == 0)
        end = others(w, at);
    if (end == 0)
        end = spaces(w, at);
    return end;
}

/* White space before a digit that is a separate word is a word, too. */
static size_t spaces_before_digit(const scanner *w, size_t at)
{
    size_t bytes;
    const size_t end = run_of(w, at, takt_unicode_is_space, 0);
    return end > at && takt_unicode_is_number(look(w, end, &bytes)) ? end : 0;
}

/* The first digit after `at`, or the end of the word. */
static size_t before_digit(const scanner *w, size_t at, size_t end)
{
    for (size_t bytes; at < end; at += bytes)
        if (takt_unicode_is_number(look(w, at, &bytes)))
            return at;
    return end;
}

static size_t next_mark(takt_span text, size_t at)
{
    for (at++; at < text.length; at++)
        if (text.length - at >= 3 && memcmp(text.at + at, "\xE2\x96\x81", 3) == 0)
            break;
    return at;
}

size_t takt_scan_word(const takt_scan *s, takt_span text, size_t at)
{
    const scanner w = {s, text, text.length};
    size_t bytes;
    if (s->is_marked)
        return next_mark(text, at);
    if (s->splits_digits && takt_unicode_is_number(look(&w, at, &bytes)))
        return at + bytes;
    if (s->is_bloom)
        return s->splits_digits ? before_digit(&w, at, bloom_word(&w, at)) : bloom_word(&w, at);
    const size_t end = s->splits_digits ? spaces_before_digit(&w, at) : 0;
    return end != 0 ? end : word(&w, at);
}
