/* datalog_words.c - words, strings, punctuation and comments of a Datalog text. */
#include "logic/datalog_words.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

takt_status takt_dlog_refuse(const takt_dlog_program *p, int line, const char *what, takt_span name)
{
    const int shown = name.length < 64 ? (int)name.length : 64;
    return takt_fail(p->ctx, TAKT_E_DATALOG, "%s:%d: %s%s%.*s", p->file, line, what,
                     shown > 0 ? ": " : "", shown, shown > 0 ? name.at : "");
}

/* Records the first error; returns NULL. */
void *takt_dlog_wrong(takt_dlog_reader *r, const char *what)
{
    if (r->status == TAKT_OK)
        r->status = takt_dlog_refuse(r->p, r->line, what, r->word);
    return NULL;
}

void *takt_dlog_room(takt_dlog_reader *r, size_t size)
{
    void *at = takt_arena_array(&r->p->arena, 1, size);
    if (at == NULL && r->status == TAKT_OK)
        r->status = TAKT_ERR_MEMORY;
    return at;
}

/* ---- names ---- */

struct takt_dlog_entry {
    takt_span name;
    void *of; /* NULL: nothing there */
};

/* Where a name is, or would be. */
static struct takt_dlog_entry *place_of(const takt_dlog_table *t, takt_span name)
{
    size_t at = (size_t)takt_hash_bytes(0, name.at, name.length) & (t->places - 1);
    while (t->at[at].of != NULL && (t->at[at].name.length != name.length ||
                                    memcmp(t->at[at].name.at, name.at, name.length) != 0))
        at = (at + 1) & (t->places - 1);
    return &t->at[at];
}

void *takt_dlog_find(const takt_dlog_table *table, takt_span name)
{
    return table->count > 0 ? place_of(table, name)->of : NULL;
}

takt_status takt_dlog_name(takt_dlog_program *p, takt_dlog_table *table, takt_span name, void *of)
{
    if (2 * table->count >= table->places) {
        takt_dlog_table more = {.count = table->count,
                                .places = table->places > 0 ? 2 * table->places : 64};
        more.at = takt_arena_array(&p->arena, more.places, sizeof *more.at);
        if (more.at == NULL)
            return TAKT_ERR_MEMORY;
        for (size_t i = 0; i < table->places; i++)
            if (table->at[i].of != NULL)
                *place_of(&more, table->at[i].name) = table->at[i];
        *table = more;
    }
    *place_of(table, name) = (struct takt_dlog_entry){name, of};
    table->count++;
    return TAKT_OK;
}

/* ---- words ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '?';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The value of a digit, in any base up to 16; more than that: it is none. */
static int digit_of(char c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : INT32_MAX;
}

int64_t takt_dlog_digits(takt_span word)
{
    const char *at = word.at;
    const bool has_base = word.length > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'b');
    const int base = !has_base ? 10 : at[1] == 'x' ? 16 : 2;
    const size_t first = has_base ? 2 : 0;
    const size_t end = word.length - (word.length > first + 1 && at[word.length - 1] == 'u');
    int64_t value = 0;
    for (size_t i = first; i < end; i++) {
        if (digit_of(at[i]) >= base || value > INT32_MAX / base - 1)
            return -1;
        value = base * value + digit_of(at[i]);
    }
    return value;
}

/* Skips a comment; true if there was one. */
static bool comment(takt_dlog_reader *r)
{
    if (r->end - r->at < 2 || r->at[0] != '/' || (r->at[1] != '/' && r->at[1] != '*'))
        return false;
    const bool is_line = r->at[1] == '/';
    const char *from = r->at += 2;
    for (; r->at < r->end; r->at++) {
        r->line += *r->at == '\n';
        if (is_line && *r->at == '\n')
            return true;
        if (!is_line && r->at > from && *r->at == '/' && r->at[-1] == '*')
            break;
    }
    r->at += r->at < r->end;
    return true;
}

static void skip(takt_dlog_reader *r)
{
    while (r->at < r->end) {
        if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')
            r->line += *r->at++ == '\n';
        else if (!comment(r))
            return;
    }
}

static void string(takt_dlog_reader *r)
{
    const char *from = ++r->at;
    r->kind = TAKT_DLOG_QUOTED;
    while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= ' ')
        r->at++;
    r->word = (takt_span){from, (size_t)(r->at - from)};
    if (r->at == r->end || *r->at != '"')
        takt_dlog_wrong(r, "a string without its end, or with what no name has");
    else
        r->at++;
}

void takt_dlog_advance(takt_dlog_reader *r)
{
    skip(r);
    const char *from = r->at;
    r->kind = TAKT_DLOG_END;
    r->word = (takt_span){from, 0};
    if (r->at == r->end || r->status != TAKT_OK)
        return;
    if (*r->at == '"') {
        string(r);
        return;
    }
    if (is_letter(*r->at)) {
        r->kind = TAKT_DLOG_WORD;
        while (r->at < r->end && (is_letter(*r->at) || is_digit(*r->at)))
            r->at++;
    } else if (is_digit(*r->at)) {
        r->kind = TAKT_DLOG_DIGITS;
        while (r->at < r->end && (is_digit(*r->at) || is_letter(*r->at)))
            r->at++;
    } else {
        static const char *const pairs[] = {":-", "<=", ">=", "!=", "<:"};
        r->kind = TAKT_DLOG_SIGN;
        size_t length = 1;
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            if (r->end - r->at > 1 && memcmp(r->at, pairs[i], 2) == 0)
                length = 2;
        r->at += length;
    }
    r->word.length = (size_t)(r->at - from);
}

bool takt_dlog_at(const takt_dlog_reader *r, const char *sign)
{
    return (r->kind == TAKT_DLOG_SIGN || r->kind == TAKT_DLOG_WORD) && takt_span_is(r->word, sign);
}

bool takt_dlog_take(takt_dlog_reader *r, const char *sign)
{
    if (r->status != TAKT_OK || !takt_dlog_at(r, sign))
        return false;
    takt_dlog_advance(r);
    return true;
}

bool takt_dlog_need(takt_dlog_reader *r, const char *sign)
{
    char what[64];
    if (takt_dlog_take(r, sign))
        return true;
    snprintf(what, sizeof what, "here stands no %s", sign);
    takt_dlog_wrong(r, what);
    return false;
}

takt_span takt_dlog_word(takt_dlog_reader *r)
{
    const takt_span word = r->word;
    if (r->kind != TAKT_DLOG_WORD)
        takt_dlog_wrong(r, "a name is wanted here");
    takt_dlog_advance(r);
    return word;
}

void takt_dlog_skip_hints(takt_dlog_reader *r)
{
    static const char *const hints[] = {"brie",      "btree", "inline",
                                        "no_inline", "magic", "no_magic"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints;)
        i = takt_dlog_take(r, hints[i]) ? 0 : i + 1;
}

void takt_dlog_skip_pragma(takt_dlog_reader *r)
{
    static const char *const kinds[] = {"magic-transform", "magic-transform-exclude",
                                        "inline-exclude"};
    bool is_known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && r->kind == TAKT_DLOG_QUOTED; i++)
        is_known = is_known || takt_span_is(r->word, kinds[i]);
    if (r->status == TAKT_OK && !is_known)
        r->status = takt_dlog_refuse(r->p, r->line, "this .pragma is not read", r->word);
    takt_dlog_advance(r);
    if (r->kind == TAKT_DLOG_QUOTED)
        takt_dlog_advance(r);
}

/* ---- nodes ---- */

takt_dlog_node *takt_dlog_node_of(takt_dlog_reader *r, takt_dlog_kind kind, int terms)
{
    const size_t size = sizeof(takt_dlog_node) + (size_t)terms * sizeof(takt_dlog_node *);
    takt_dlog_node *n = r->status == TAKT_OK ? takt_dlog_room(r, size) : NULL;
    if (n != NULL) {
        n->kind = kind;
        n->line = r->line;
        n->text = r->word;
    }
    return n;
}

takt_dlog_node *takt_dlog_above(takt_dlog_reader *r, takt_dlog_kind kind)
{
    if (++r->signs > TAKT_DLOG_MOST_SIGNS)
        return takt_dlog_wrong(r, "a clause of more than 128 signs");
    if (kind == TAKT_DLOG_SUM && ++r->term_signs > TAKT_DLOG_TERM_SIGNS)
        return takt_dlog_wrong(r, "a term of more than 48 signs");
    return takt_dlog_node_of(r, kind, 0);
}
