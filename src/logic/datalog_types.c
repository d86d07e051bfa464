/* datalog_types.c - types of a Datalog program: names for symbols, numbers and unions of such. */
#include <string.h>

#include "logic/datalog_words.h"

static bool same(takt_span a, takt_span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

enum { NEITHER, SYMBOLS, NUMBERS };

enum { MOST_STEPS = 4096 };

/* What a type is made of; NEITHER: it is unknown, mixed, or its own base, which takes more steps
 * than there are. */
static int made_of(const takt_dlog_reader *r, takt_span word, int depth, int *steps)
{
    if (takt_span_is(word, "symbol"))
        return SYMBOLS;
    if (takt_span_is(word, "number") || takt_span_is(word, "unsigned"))
        return NUMBERS;
    const takt_dlog_type *t = r->p->types;
    while (t != NULL && !same(t->name, word))
        t = t->next;
    if (t == NULL || depth == TAKT_DLOG_DEPTH || ++*steps > MOST_STEPS)
        return NEITHER;
    const takt_dlog_base *b = t->bases;
    int all = b != NULL ? made_of(r, b->name, depth + 1, steps) : SYMBOLS;
    for (b = b != NULL ? b->next : NULL; b != NULL && all != NEITHER; b = b->next)
        all = made_of(r, b->name, depth + 1, steps) == all ? all : NEITHER;
    return all;
}

bool takt_dlog_is_symbol(takt_dlog_reader *r, takt_span word)
{
    int steps = 0;
    const int all = made_of(r, word, 0, &steps);
    if (all == NEITHER && r->status == TAKT_OK)
        r->status = takt_dlog_refuse(r->p, r->line, "no type of symbols or numbers", word);
    return all == SYMBOLS;
}

void takt_dlog_declare_type(takt_dlog_reader *r)
{
    takt_dlog_type *t = takt_dlog_room(r, sizeof *t);
    const takt_span word = takt_dlog_word(r);
    if (t == NULL)
        return;
    for (const takt_dlog_type *other = r->p->types; other != NULL; other = other->next)
        if (r->stage == TAKT_DLOG_TYPES && same(other->name, word) && r->status == TAKT_OK)
            r->status = takt_dlog_refuse(r->p, r->line, "a second .type of", word);
    t->name = word;
    takt_dlog_base **end = &t->bases;
    if (takt_dlog_take(r, "<:") || takt_dlog_take(r, "="))
        do {
            takt_dlog_base *base = takt_dlog_room(r, sizeof *base);
            if (base == NULL)
                return;
            base->name = takt_dlog_word(r);
            *end = base;
            end = &base->next;
        } while (r->status == TAKT_OK && takt_dlog_take(r, "|"));
    if (takt_dlog_at(r, "{") || takt_dlog_at(r, "["))
        takt_dlog_wrong(r, "only types that are symbols or numbers are read");
    if (r->stage != TAKT_DLOG_TYPES)
        return;
    t->next = r->p->types;
    r->p->types = t;
}
