/* datalog_fold.c - `n = count : { body }` and `n = sum t : { body }`.
 *
 * The rules have counts and sums of their own, so that a fold stays where it is: a number to
 * compare with. Its own variables are those that the clause does not have elsewhere. As in Soufflé,
 * each _ of a single atom is one of them, since every tuple of the atom counts; an atom that stands
 * twice is one. Of more atoms, or of one with a variable twice, different values of the named
 * variables count.
 */
#include <string.h>

#include "logic/datalog_words.h"

/* ---- reading ---- */

bool takt_dlog_at_fold(const takt_dlog_reader *r)
{
    return r->kind == TAKT_DLOG_WORD &&
           (takt_dlog_at(r, "count") || takt_dlog_at(r, "sum") || takt_dlog_at(r, "mean"));
}

static bool same(takt_span a, takt_span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static bool is_same(const takt_dlog_node *a, const takt_dlog_node *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->kind != b->kind || a->relation != b->relation || a->op != b->op ||
        a->number != b->number || a->term_count != b->term_count || !same(a->text, b->text) ||
        !is_same(a->a, b->a) || !is_same(a->b, b->b))
        return false;
    for (int i = 0; i < a->term_count; i++)
        if (!is_same(a->terms[i], b->terms[i]))
            return false;
    return true;
}

/* Whether all atoms of the conjunction are the same one, stored in *atom. */
static bool is_one(takt_dlog_node *n, takt_dlog_node **atom)
{
    if (n->kind == TAKT_DLOG_BOTH)
        return is_one(n->a, atom) && is_one(n->b, atom);
    if (n->kind != TAKT_DLOG_ATOM)
        return true;
    *atom = *atom == NULL ? n : *atom;
    return is_same(*atom, n);
}

static bool has_twice(const takt_dlog_node *atom)
{
    for (int i = 0; i < atom->term_count; i++)
        for (int k = 0; k < i && atom->terms[i]->kind == TAKT_DLOG_NAME; k++)
            if (atom->terms[k]->kind == TAKT_DLOG_NAME &&
                same(atom->terms[i]->text, atom->terms[k]->text))
                return true;
    return false;
}

/* Gives repeated variables the names of the first. */
static void name_same(takt_dlog_node *n, takt_dlog_node *atom)
{
    if (n->kind == TAKT_DLOG_BOTH) {
        name_same(n->a, atom);
        name_same(n->b, atom);
    } else if (n->kind == TAKT_DLOG_ATOM && n != atom) {
        memcpy(n->terms, atom->terms, (size_t)n->term_count * sizeof *n->terms);
    }
}

/* Every _ of a single atom becomes a variable. Elsewhere it stays: any tuple, or below a negation
 * no tuple at all. */
static void name_each(takt_dlog_reader *r, takt_dlog_node *n)
{
    takt_dlog_node *atom = NULL;
    if (!is_one(n, &atom) || atom == NULL || has_twice(atom))
        return;
    name_same(n, atom);
    for (int i = 0; i < atom->term_count; i++) {
        takt_dlog_node *t = atom->terms[i];
        if (t->kind != TAKT_DLOG_ANY)
            continue;
        const char *name = takt_arena_format(&r->p->arena, "each_%d", r->each++);
        if (name == NULL) {
            r->status = TAKT_ERR_MEMORY;
            return;
        }
        t->kind = TAKT_DLOG_NAME;
        t->text = takt_span_of(name);
        t->number = 1; /* made here */
    }
}

static bool has_either(const takt_dlog_node *n)
{
    return n != NULL && (n->kind == TAKT_DLOG_EITHER || has_either(n->a) || has_either(n->b));
}

/* Whether it can be below 0. */
static bool has_minus(const takt_dlog_node *n)
{
    return n->kind == TAKT_DLOG_SUM && (n->op[0] == '-' || has_minus(n->a) || has_minus(n->b));
}

takt_dlog_node *takt_dlog_fold(takt_dlog_reader *r)
{
    if (takt_dlog_at(r, "mean"))
        return takt_dlog_wrong(r, "a mean is a float, which is not read");
    if (r->in_most)
        return takt_dlog_wrong(r, "an aggregate inside another one is not read");
    if (++r->signs > TAKT_DLOG_MOST_SIGNS)
        return takt_dlog_wrong(r, "a clause of more than 128 signs");
    takt_dlog_node *n = takt_dlog_node_of(r, TAKT_DLOG_FOLD, TAKT_DLOG_MOST_TERMS);
    if (n == NULL)
        return NULL;
    n->op = takt_dlog_at(r, "sum") ? "sum" : "count";
    takt_dlog_advance(r);
    r->in_target = true;
    n->a = n->op[0] == 's' ? takt_dlog_term(r) : NULL;
    r->in_target = false;
    if (n->a != NULL && has_minus(n->a))
        return takt_dlog_wrong(r, "a sum of differences may be negative");
    if (!takt_dlog_need(r, ":")) /* an error of the term as well */
        return NULL;
    r->in_most = true;
    n->b = takt_dlog_braces(r);
    r->in_most = false;
    if (n->b != NULL && has_either(n->b))
        return takt_dlog_wrong(r, "an aggregate of alternatives is not read");
    if (n->b != NULL)
        name_each(r, n->b);
    return n->b != NULL && r->status == TAKT_OK ? n : NULL;
}

/* ---- variables ---- */

/* Adds variables of a part of the fold that the clause has nowhere else. */
static void add_own(takt_dlog_reader *r, takt_dlog_node *fold, takt_dlog_node *n,
                    const takt_dlog_scope *scope)
{
    if (n == NULL || r->status != TAKT_OK)
        return;
    for (int i = 0; i < n->term_count; i++)
        add_own(r, fold, n->terms[i], scope);
    if (n->kind != TAKT_DLOG_NAME) {
        add_own(r, fold, n->a, scope);
        add_own(r, fold, n->b, scope);
        return;
    }
    bool is_own = !takt_dlog_stands_in(scope->body, n->text);
    for (int i = 0; i < scope->count; i++)
        is_own = is_own && !takt_dlog_stands_in(scope->heads[i], n->text);
    for (int i = 0; i < fold->term_count; i++)
        is_own = is_own && !same(fold->terms[i]->text, n->text);
    if (!is_own)
        return;
    if (fold->term_count == TAKT_DLOG_MOST_TERMS)
        r->status =
            takt_dlog_refuse(r->p, n->line, "an aggregate of more than 16 variables", n->text);
    else
        fold->terms[fold->term_count++] = n;
}

/* Whether it contains the variable of the comparison, which gets its value from the fold. */
static bool is_in_own(const takt_dlog_node *fold, const takt_dlog_node *result)
{
    return result->kind == TAKT_DLOG_NAME && (takt_dlog_stands_in(fold->b, result->text) ||
                                              takt_dlog_stands_in(fold->a, result->text));
}

void takt_dlog_own_variables(takt_dlog_reader *r, takt_dlog_node *n, const takt_dlog_scope *scope)
{
    if (n == NULL || r->status != TAKT_OK || n->kind == TAKT_DLOG_MOST)
        return;
    if (n->kind != TAKT_DLOG_COMPARE || n->b->kind != TAKT_DLOG_FOLD) {
        takt_dlog_own_variables(r, n->a, scope);
        takt_dlog_own_variables(r, n->b, scope);
        return;
    }
    if (is_in_own(n->b, n->a))
        r->status = takt_dlog_refuse(r->p, n->line,
                                     "the result of an aggregate stands inside of it", n->a->text);
    add_own(r, n->b, n->b->b, scope);
}
