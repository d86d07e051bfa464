/* regex_parse.c - compiles patterns in one pass; code is moved when it turns out to be an
 * alternative or repeated. */
#include <stdio.h>
#include <string.h>

#include "text/regex_parse.h"
#include "text/unicode.h"

void takt_regex_refuse(takt_regex_parser *p, const char *what)
{
    if (p->status == TAKT_OK)
        p->status = takt_fail(p->arena->ctx, TAKT_E_TOKENIZER_UNSUPPORTED,
                              "texts are cut by a pattern that Takt does not have: at byte %zu "
                              "%s: %.*s",
                              p->at, what, (int)(p->pattern.length < 160 ? p->pattern.length : 160),
                              p->pattern.at);
}

uint32_t takt_regex_peek(const takt_regex_parser *p)
{
    size_t bytes;
    return takt_unicode_take(p->pattern.at + p->at, p->pattern.length - p->at, &bytes);
}

uint32_t takt_regex_take(takt_regex_parser *p)
{
    size_t bytes = 0;
    if (p->at >= p->pattern.length) {
        takt_regex_refuse(p, "it ends too early");
        return 0;
    }
    const uint32_t c = takt_unicode_take(p->pattern.at + p->at, p->pattern.length - p->at, &bytes);
    p->at += bytes;
    return c;
}

bool takt_regex_takes(takt_regex_parser *p, const char *text)
{
    const size_t length = strlen(text);
    if (p->pattern.length - p->at < length || memcmp(p->pattern.at + p->at, text, length) != 0)
        return false;
    p->at += length;
    return true;
}

/* ---- atoms ---- */

static void read_choice(takt_regex_parser *p);

static void read_look(takt_regex_parser *p, bool is_wanted)
{
    const size_t at = takt_regex_emit(p, TAKT_R_LOOK, 0, 0, is_wanted);
    read_choice(p);
    takt_regex_emit(p, TAKT_R_MATCH, 0, 0, 0);
    if (p->status == TAKT_OK) {
        p->r->steps[at].a = (uint32_t)at + 1;
        p->r->steps[at].b = (uint32_t)p->r->step_count;
    }
}

static void read_behind(takt_regex_parser *p, bool is_wanted)
{
    const size_t at = p->r->step_count;
    uint32_t set = 0;
    read_choice(p);
    if (p->status == TAKT_OK &&
        (p->r->step_count != at + 1 || !takt_regex_as_set(p, &p->r->steps[at], &set)))
        takt_regex_refuse(p, "only one character can be looked back at");
    if (p->status != TAKT_OK)
        return;
    p->r->step_count = at;
    takt_regex_emit(p, TAKT_R_BEHIND, set, 0, is_wanted);
}

/* After its '('. */
static void read_group(takt_regex_parser *p)
{
    const bool folds = p->folds;
    if (takt_regex_takes(p, "?=")) {
        read_look(p, true);
    } else if (takt_regex_takes(p, "?!")) {
        read_look(p, false);
    } else if (takt_regex_takes(p, "?<=")) {
        read_behind(p, true);
    } else if (takt_regex_takes(p, "?<!")) {
        read_behind(p, false);
    } else if (takt_regex_takes(p, "?i)")) {
        p->folds = true; /* up to the end of the group around it */
        return;
    } else {
        if (takt_regex_takes(p, "?i:"))
            p->folds = true;
        else if (!takt_regex_takes(p, "?:") && p->at < p->pattern.length &&
                 p->pattern.at[p->at] == '?')
            takt_regex_refuse(p, "a kind of group is not known");
        read_choice(p);
    }
    p->folds = folds;
    if (!takt_regex_takes(p, ")"))
        takt_regex_refuse(p, "a group does not end");
}

static void emit_char(takt_regex_parser *p, uint32_t c)
{
    const bool is_ascii = c < 0x80 && takt_unicode_is_letter(c);
    if (p->folds && c >= 0x80 && takt_unicode_is_letter(c))
        takt_regex_refuse(p, "a letter beyond ASCII has no other case here");
    if (p->folds && is_ascii)
        takt_regex_emit(p, TAKT_R_FOLD, c | 0x20, 0, 0);
    else
        takt_regex_emit(p, TAKT_R_CHAR, c, 0, 0);
}

/* Whether an escape for a position comes next. */
static bool read_place(takt_regex_parser *p)
{
    static const struct {
        const char *text;
        takt_regex_place place;
    } places[] = {{"\\b", TAKT_R_WORD_EDGE},
                  {"\\B", TAKT_R_NO_WORD_EDGE},
                  {"\\A", TAKT_R_BEGIN},
                  {"\\z", TAKT_R_END},
                  {"\\Z", TAKT_R_LAST}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (takt_regex_takes(p, places[i].text)) {
            takt_regex_emit(p, TAKT_R_AT, places[i].place, 0, 0);
            return true;
        }
    const bool is_rust = (p->flags & TAKT_REGEX_RUST) != 0;
    if (takt_regex_takes(p, "^")) {
        takt_regex_emit(p, TAKT_R_AT, is_rust ? TAKT_R_BEGIN : TAKT_R_LINE_BEGIN, 0, 0);
        return true;
    }
    if (takt_regex_takes(p, "$")) {
        takt_regex_emit(p, TAKT_R_AT, is_rust ? TAKT_R_END : TAKT_R_LINE_END, 0, 0);
        return true;
    }
    return false;
}

static void read_atom(takt_regex_parser *p)
{
    if (takt_regex_takes(p, "(")) {
        read_group(p);
    } else if (takt_regex_takes(p, "[")) {
        takt_regex_emit(p, TAKT_R_SET, takt_regex_read_set(p), 0, 0);
    } else if (takt_regex_takes(p, ".")) {
        const takt_regex_item line = {TAKT_R_RANGE, true, '\n', '\n'};
        takt_regex_emit(p, TAKT_R_SET, takt_regex_set_of(p, line), 0, 0);
    } else if (takt_regex_takes(p, "\\")) {
        takt_regex_escape e = takt_regex_read_escape(p);
        if (e.item.kind == TAKT_R_WORD)
            e.item.low = 1;
        if (e.is_item)
            takt_regex_emit(p, TAKT_R_SET, takt_regex_set_of(p, e.item), 0, 0);
        else
            emit_char(p, e.c);
    } else {
        const uint32_t c = takt_regex_take(p);
        if (c == '*' || c == '+' || c == '?')
            takt_regex_refuse(p, "nothing is repeated");
        emit_char(p, c);
    }
}

static bool is_end(const takt_regex_parser *p)
{
    return p->at >= p->pattern.length || p->pattern.at[p->at] == '|' || p->pattern.at[p->at] == ')';
}

static void read_sequence(takt_regex_parser *p)
{
    while (p->status == TAKT_OK && !is_end(p)) {
        const size_t first = p->r->step_count;
        takt_regex_repeat how;
        if (read_place(p))
            continue;
        read_atom(p);
        while (p->status == TAKT_OK && takt_regex_take_repeat(p, &how))
            takt_regex_repeat_code(p, first, &how);
    }
}

/* Alternatives in order: a split before each but the last, and a jump after it. */
static void read_choice(takt_regex_parser *p)
{
    size_t last = SIZE_MAX; /* the previous jump; each links to the one before in b */
    if (++p->depth > TAKT_REGEX_DEPTH)
        takt_regex_refuse(p, "it is nested too deeply");
    for (;;) {
        const size_t first = p->r->step_count;
        read_sequence(p);
        if (p->status != TAKT_OK || !takt_regex_takes(p, "|"))
            break;
        takt_regex_insert(p, first, TAKT_R_SPLIT, p->r->step_count + 2);
        last = takt_regex_emit(p, TAKT_R_JUMP, 0, last, 0);
    }
    const size_t end = p->r->step_count;
    while (p->status == TAKT_OK && last != SIZE_MAX && last != UINT32_MAX) {
        const size_t next = p->r->steps[last].b;
        p->r->steps[last] = (takt_regex_step){.op = TAKT_R_JUMP, .a = (uint32_t)end};
        last = next;
    }
    p->depth--;
}

takt_status takt_regex_compile(takt_arena *arena, takt_span pattern, unsigned flags,
                               takt_regex *regex)
{
    *regex = (takt_regex){.is_rust = (flags & TAKT_REGEX_RUST) != 0};
    takt_regex_parser p = {.arena = arena, .r = regex, .pattern = pattern, .flags = flags};
    read_choice(&p);
    if (p.at < pattern.length)
        takt_regex_refuse(&p, "a group ends that did not begin");
    takt_regex_emit(&p, TAKT_R_MATCH, 0, 0, 0);
    for (size_t i = 0; p.status == TAKT_OK && i < regex->step_count; i++)
        if (regex->steps[i].op == TAKT_R_SPLIT)
            regex->steps[i].c = (uint32_t)regex->split_count++;
    return p.status;
}
