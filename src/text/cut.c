/* cut.c - the patterns of a tokenizer in sequence: each splits the pieces left by the previous
 * ones, and sees only one such piece. */
#include <string.h>

#include "text/tokenizer.h"
#include "text/unicode.h"
#include "text/unicode_tables.h"

/* ---- reading ---- */

takt_status takt_cuts_add(takt_tokenizer *t, takt_span pattern, takt_cut_kind kind,
                          bool is_inverted)
{
    const char *copy = takt_arena_text(&t->arena, pattern.at, pattern.length);
    if (t->cuts == NULL)
        t->cuts = takt_arena_array(&t->arena, TAKT_CUTS, sizeof *t->cuts);
    if (copy == NULL || t->cuts == NULL)
        return TAKT_ERR_MEMORY;
    if (t->cut_count == TAKT_CUTS)
        return takt_tokenizer_fail(t, TAKT_E_TOKENIZER_UNSUPPORTED,
                                   "texts are cut by more than %d patterns", TAKT_CUTS);
    t->cuts[t->cut_count++] =
        (takt_cut){.pattern = {copy, pattern.length}, .kind = kind, .is_inverted = is_inverted};
    return TAKT_OK;
}

/* A scanner equivalent to the patterns; NULL: there is none. */
static const takt_scan *scanner_of(const takt_tokenizer *t)
{
    const takt_cut *c = t->cuts;
    if (t->cut_count == 1 && c[0].kind == TAKT_CUT_WITH_NEXT && !c[0].is_inverted &&
        takt_span_is(c[0].pattern, TAKT_TOKEN_MARK))
        return &takt_scan_marks;
    for (size_t i = 0; i < t->cut_count; i++)
        if (c[i].kind != TAKT_CUT_ISOLATED || c[i].is_inverted)
            return NULL;
    if (t->cut_count == 1)
        return takt_scan_of_pattern(c[0].pattern);
    const bool is_digits = t->cut_count == 2 && takt_span_is(c[0].pattern, "\\p{N}") &&
                           takt_span_is(c[1].pattern, takt_scan_gpt2.patterns[0]);
    return is_digits ? &takt_scan_digits : NULL;
}

takt_status takt_cuts_settle(takt_tokenizer *t, unsigned flags)
{
    const takt_scan *scan = t->cut_count > 0 ? scanner_of(t) : NULL;
    if (scan != NULL) {
        t->scan = scan;
        t->cut_count = 0;
    }
    for (size_t i = 0; i < t->cut_count; i++)
        if (t->cuts[i].kind != TAKT_CUT_SCRIPTS)
            TAKT_TRY(takt_regex_compile(&t->arena, t->cuts[i].pattern, flags, &t->cuts[i].regex));
    return TAKT_OK;
}

/* ---- words ---- */

/* Pieces of one text, in order; those that belong together are reported as one. */
typedef struct pieces {
    takt_cutting *c;
    size_t level;
    const char *at;
    size_t begin, end; /* the pending piece: empty if they are equal */
    bool is_match, is_closed;
} pieces;

static void tell(pieces *p)
{
    if (p->end > p->begin)
        takt_cuts_run(p->c, p->level + 1, (takt_span){p->at + p->begin, p->end - p->begin});
    p->begin = p->end;
}

/* Whether a piece joins the pending one. */
static bool joins(const pieces *p, takt_cut_kind kind, bool is_match)
{
    if (p->end == p->begin || p->is_closed)
        return false;
    switch (kind) {
    case TAKT_CUT_WITH_PREVIOUS: return is_match && !p->is_match;
    case TAKT_CUT_WITH_NEXT: return !is_match && p->is_match;
    case TAKT_CUT_CONTIGUOUS: return is_match == p->is_match;
    default: return false;
    }
}

static void add(pieces *p, size_t begin, size_t end, bool is_found)
{
    const takt_cut *cut = &p->c->t->cuts[p->level];
    const bool is_match = is_found != cut->is_inverted;
    if (end == begin)
        return;
    if (joins(p, cut->kind, is_match)) {
        p->end = end;
        p->is_closed = cut->kind != TAKT_CUT_CONTIGUOUS;
        return;
    }
    tell(p);
    p->begin = begin;
    p->end = cut->kind == TAKT_CUT_REMOVED && is_match ? begin : end;
    p->is_match = is_match;
    p->is_closed = false;
}

/* A piece begins with each character of another script than the last one had. Characters that go
 * with any script stay where they are; before the first piece they are dropped. */
static void run_scripts(takt_cutting *c, size_t level, takt_span text)
{
    pieces p = {.c = c, .level = level, .at = text.at};
    int last = 0;
    for (size_t at = 0, bytes; at < text.length && c->status == TAKT_OK; at += bytes) {
        const int script =
            takt_unicode_script(takt_unicode_take(text.at + at, text.length - at, &bytes));
        if (script != 0 && script != last) {
            tell(&p);
            p.begin = at;
            last = script;
        }
        p.end = last != 0 ? at + bytes : p.begin;
    }
    tell(&p);
}

static void run_pattern(takt_cutting *c, size_t first, takt_span text)
{
    const takt_tokenizer *t = c->t;
    takt_regex_run *run = &c->runs[first];
    pieces p = {.c = c, .level = first, .at = text.at};
    size_t at = 0, from = 0, begin, end;
    takt_regex_begin(run, t->ctx, &t->cuts[first].regex, text);
    while (c->status == TAKT_OK && at < text.length && takt_regex_next(run, from, &begin, &end)) {
        add(&p, at, begin, false);
        add(&p, begin, end, true);
        if (begin == end && begin > at) /* an empty match splits, too */
            tell(&p);
        at = end;
        from = end;
        if (begin == end) {
            from++;
            while (from < text.length && ((unsigned char)text.at[from] & 0xC0) == 0x80)
                from++;
        }
        if (from > text.length)
            break;
    }
    if (c->status == TAKT_OK)
        c->status = run->status;
    add(&p, at, text.length, false);
    tell(&p);
}

void takt_cuts_run(takt_cutting *c, size_t first, takt_span text)
{
    if (c->status != TAKT_OK || text.length == 0)
        return;
    if (first == c->t->cut_count)
        c->word(c->user, text);
    else if (c->t->cuts[first].kind == TAKT_CUT_SCRIPTS)
        run_scripts(c, first, text);
    else
        run_pattern(c, first, text);
}

void takt_cutting_deinit(takt_cutting *c)
{
    for (size_t i = 0; i < c->t->cut_count; i++)
        if (c->runs[i].ctx != NULL)
            takt_regex_deinit(&c->runs[i]);
}
