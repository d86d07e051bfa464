/* scan.c - the end of the next word. */
#include "text/scan.h"

#include <string.h>

#include "text/unicode.h"

/* ---- the known ones ---- */

#define CONTRACTIONS "'s|'t|'re|'ve|'m|'ll|'d"
#define OTHERS "| ?[^\\s\\p{L}\\p{N}]+"
#define WORDS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define LINES "[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const takt_scan takt_scan_gpt2 = {
    .name = "gpt-2", .patterns = {CONTRACTIONS "| ?\\p{L}+| ?\\p{N}+" OTHERS "|\\s+(?!\\S)|\\s+"}};
const takt_scan takt_scan_digits = {.name = "smollm", .is_alone = true};
const takt_scan takt_scan_marks = {.name = "metaspace", .is_marked = true};
static const takt_scan llama3 = {
    .name = "llama-bpe",
    .any_case = true,
    .joins_any = true,
    .joins_lines = true,
    .digits = 3,
    .patterns = {"(?i:" CONTRACTIONS ")" WORDS "|\\p{N}{1,3}" OTHERS LINES,
                 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])" WORDS
                 "|\\p{N}{1,3}" OTHERS LINES}};
static const takt_scan qwen2 = {
    .name = "qwen2",
    .any_case = true,
    .joins_any = true,
    .joins_lines = true,
    .digits = 1,
    .patterns = {"(?i:" CONTRACTIONS ")" WORDS "|\\p{N}" OTHERS LINES,
                 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])" WORDS
                 "|\\p{N}" OTHERS LINES}};

static const struct {
    const char *name;
    const takt_scan *scan;
} names[] = {
    {"gpt-2", &takt_scan_gpt2},
    {"phi-2", &takt_scan_gpt2},
    {"jina-es", &takt_scan_gpt2},
    {"jina-de", &takt_scan_gpt2},
    {"jina-v2-es", &takt_scan_gpt2},
    {"jina-v2-de", &takt_scan_gpt2},
    {"gigachat", &takt_scan_gpt2},
    {"mpt", &takt_scan_gpt2},
    {"olmo", &takt_scan_gpt2},
    {"jais", &takt_scan_gpt2},
    {"roberta-bpe", &takt_scan_gpt2},
    {"llama3", &llama3},
    {"llama-v3", &llama3},
    {"llama-bpe", &llama3},
    {"falcon3", &llama3},
    {"falcon-h1", &llama3},
    {"pixtral", &llama3},
    {"lfm2", &llama3},
    {"smaug-bpe", &llama3},
    {"dbrx", &llama3},
    {"qwen2", &qwen2},
    {"deepseek-r1-qwen", &qwen2},
    {"stablelm2", &qwen2},
    {"hunyuan", &qwen2},
    {"megrez", &qwen2},
    {"smollm", &takt_scan_digits},
    {"starcoder", &takt_scan_digits},
    {"refact", &takt_scan_digits},
    {"command-r", &takt_scan_digits},
    {"codeshell", &takt_scan_digits},
    {"exaone", &takt_scan_digits},
};

const takt_scan *takt_scan_named(takt_span name)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (takt_span_is(name, names[i].name))
            return names[i].scan;
    return NULL;
}

const takt_scan *takt_scan_of_pattern(takt_span pattern)
{
    static const takt_scan *const all[] = {&takt_scan_gpt2, &llama3, &qwen2};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (size_t k = 0; k < 3 && all[i]->patterns[k] != NULL; k++)
            if (takt_span_is(pattern, all[i]->patterns[k]))
                return all[i];
    return NULL;
}

/* ---- one word ---- */

typedef struct scanner {
    const takt_scan *s;
    takt_span text;
    size_t end; /* of what is looked at */
} scanner;

/* The character at `at` and its bytes; at the end 0 and 0. */
static uint32_t look(const scanner *w, size_t at, size_t *bytes)
{
    *bytes = 0;
    return at < w->end ? takt_unicode_take(w->text.at + at, w->end - at, bytes) : 0;
}

static bool is_other(uint32_t c)
{
    return !takt_unicode_is_space(c) && !takt_unicode_is_letter(c) && !takt_unicode_is_number(c);
}

typedef bool char_fn(uint32_t c);

/* Behind all characters of a kind from `at` on; at most `most` of them, 0: any number. */
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
    size_t bytes;
    const uint32_t c = look(w, at, &bytes);
    if (takt_unicode_is_letter(c))
        return run_of(w, at, takt_unicode_is_letter, 0);
    const bool joins = w->s->joins_any ? !is_line_end(c) && !takt_unicode_is_number(c) : c == ' ';
    const size_t end = joins ? run_of(w, at + bytes, takt_unicode_is_letter, 0) : at;
    return end > at + bytes ? end : 0;
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
    const size_t end = run_of(w, from, is_other, 0);
    if (end == from)
        return 0;
    return w->s->joins_lines ? run_of(w, end, is_line_end, 0) : end;
}

/* White space up to its last line end; or all of it but the last character, which belongs to the
 * word behind it. */
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
    if (w->s->joins_lines && lines > at)
        return lines;
    return end == w->end || last == at ? end : last;
}

static size_t word(const scanner *w, size_t at)
{
    size_t end = contraction(w, at);
    if (end == 0)
        end = letters(w, at);
    if (end == 0)
        end = numbers(w, at);
    if (end == 0)
        end = others(w, at);
    if (end == 0)
        end = spaces(w, at);
    return end;
}

/* White space before a digit that is a word of its own is one, too. */
static size_t spaces_before_digit(const scanner *w, size_t at)
{
    size_t bytes;
    const size_t end = run_of(w, at, takt_unicode_is_space, 0);
    return end > at && takt_unicode_is_number(look(w, end, &bytes)) ? end : 0;
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
    if (s->is_alone && takt_unicode_is_number(look(&w, at, &bytes)))
        return at + bytes;
    const size_t end = s->is_alone ? spaces_before_digit(&w, at) : 0;
    return end != 0 ? end : word(&w, at);
}
