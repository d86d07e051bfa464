/* datalog_types.c - types of a Datalog program: names for symbols, numbers and unions of these. */
#include "logic/datalog_words.h"

enum { NEITHER, SYMBOLS, NUMBERS };

enum { MOST_STEPS = 4096 };

/* The base of a type; NEITHER: it is unknown, mixed, or its own base, which is detected by a chain
 * longer than the number of types. */
static int made_of(const takt_dlog_reader *r, takt_span word, int depth, int *steps)
{
    if (takt_span_is(word, "symbol"))
        return SYMBOLS;
    if (takt_span_is(word, "number") || takt_span_is(word, "unsigned"))
        return NUMBERS;
    const takt_dlog_type *t = takt_dlog_find(&r->p->types, word);
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
    const bool is_new = r->stage == TAKT_DLOG_TYPES;
    if (is_new && r->status == TAKT_OK && takt_dlog_find(&r->p->types, word) != NULL)
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
    if (is_new && r->status == TAKT_OK)
        r->status = takt_dlog_name(r->p, &r->p->types, word, t);
}
