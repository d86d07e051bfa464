/* datalog_bound.c - how large the numbers of a program become.
 *
 * Numbers form one domain, from 0 to the largest that the text and its files name. A count or a sum
 * makes others: their bounds follow from the facts, and go from column to column until nothing
 * changes. A count is bounded by the values of its own variables, and by the facts of its atoms.
 */
#include <string.h>

#include "logic/datalog.h"
#include "logic/relation.h"

/* Counts and sums need a form with a place for every number: MOST_MADE is a mebibit each. */
enum { MOST_NUMBER = 2147483600, MOST_MADE = 1048575, EQUATIONS = 4 };
enum { ROUNDS = 64, MOST_FOLLOWED = 1 << 24 }; /* of all rounds together */

static const int64_t unbound = INT64_MAX;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Stays just above MOST_NUMBER, which is refused in the end. */
static int64_t times(int64_t a, int64_t b)
{
    return a == 0 || b == 0 ? 0 : a > MOST_NUMBER / b ? (int64_t)MOST_NUMBER + 1 : a * b;
}

static bool is_called(const takt_dlog_node *n, takt_span name)
{
    return n->kind == TAKT_DLOG_NAME && n->text.length == name.length &&
           memcmp(n->text.at, name.at, name.length) == 0;
}

/* The formula that binds variables, and the rest of the clause. */
typedef struct scope {
    const takt_dlog_node *formula;
    const struct scope *up;
    int64_t symbols, largest; /* of all numbers so far */
    int depth;                /* of equations */
} scope;

static int64_t most_of_term(const scope *s, const takt_dlog_node *t);
static int64_t most_of_fold(const scope *s, const takt_dlog_node *fold);

/* The largest value that a part of the formula leaves a variable. */
static int64_t most_in(const scope *s, const takt_dlog_node *n, takt_span name)
{
    int64_t most = unbound;
    if (n->kind == TAKT_DLOG_BOTH)
        return least(most_in(s, n->a, name), most_in(s, n->b, name));
    if (n->kind == TAKT_DLOG_EITHER) {
        const int64_t a = most_in(s, n->a, name), b = most_in(s, n->b, name);
        return a > b ? a : b;
    }
    for (int i = 0; n->kind == TAKT_DLOG_ATOM && i < n->term_count; i++)
        if (is_called(n->terms[i], name) && !n->relation->is_symbol[i])
            most = least(most, n->relation->largest[i]);
    if (n->kind != TAKT_DLOG_COMPARE || strcmp(n->op, "==") != 0 || s->depth == 0)
        return most;
    const scope inner = {s->formula, s->up, s->symbols, s->largest, s->depth - 1};
    if (is_called(n->a, name))
        return n->b->kind == TAKT_DLOG_FOLD ? most_of_fold(&inner, n->b)
                                            : most_of_term(&inner, n->b);
    return is_called(n->b, name) ? most_of_term(&inner, n->a) : unbound;
}

/* Whether it can be below 0. */
static bool has_minus(const takt_dlog_node *n)
{
    return n->kind == TAKT_DLOG_SUM && (n->op[0] == '-' || has_minus(n->a) || has_minus(n->b));
}

static int64_t most_of_term(const scope *s, const takt_dlog_node *t)
{
    if (t->kind == TAKT_DLOG_NUMBER)
        return t->number;
    if (t->kind == TAKT_DLOG_SUM) {
        const int64_t a = most_of_term(s, t->a), b = most_of_term(s, t->b);
        const bool turns = (t->op[0] == '*' && has_minus(t->a)) || has_minus(t->b);
        if (a == unbound || b == unbound || (turns && t->op[0] != '+'))
            return unbound;
        return t->op[0] == '*'   ? times(a > 0 ? a : 0, b > 0 ? b : 0)
               : t->op[0] == '+' ? least(a + b, (int64_t)MOST_NUMBER + 1)
                                 : a;
    }
    int64_t most = unbound;
    if (t->kind == TAKT_DLOG_NAME)
        for (const scope *at = s; at != NULL; at = at->up)
            most = least(most, most_in(at, at->formula, t->text));
    return most;
}

/* The number of values of a variable. */
static int64_t values_of(const scope *s, const takt_dlog_node *variable)
{
    if (takt_dlog_is_symbolic(s->formula, variable->text))
        return s->symbols;
    const int64_t most = most_of_term(s, variable);
    return most == unbound ? 1 : most + 1; /* refused when the rule is written */
}

static bool is_own(const takt_dlog_node *fold, const takt_dlog_node *t)
{
    for (int i = 0; i < fold->term_count; i++)
        if (is_called(t, fold->terms[i]->text))
            return true;
    return false;
}

/* How many tuples of the conjunction's atoms there are at most. */
static int64_t tuples(const scope *s, const takt_dlog_node *fold, const takt_dlog_node *n)
{
    int64_t count = 1;
    bool has_own = false;
    if (n->kind == TAKT_DLOG_BOTH)
        return times(tuples(s, fold, n->a), tuples(s, fold, n->b));
    for (int i = 0; n->kind == TAKT_DLOG_ATOM && i < n->term_count; i++)
        if (is_own(fold, n->terms[i])) {
            has_own = true;
            count = times(count, values_of(s, n->terms[i]));
        }
    return has_own ? least(count, n->relation->tuple_count) : count;
}

static int64_t most_of_fold(const scope *s, const takt_dlog_node *fold)
{
    const scope inner = {fold->b, s, s->symbols, s->largest, s->depth};
    int64_t count = 1;
    for (int i = 0; i < fold->term_count; i++)
        count = times(count, values_of(&inner, fold->terms[i]));
    count = least(count, tuples(&inner, fold, fold->b));
    int64_t most = fold->a != NULL ? most_of_term(&inner, fold->a) : 1;
    most = most == unbound ? s->largest : most;
    return times(count, most > 0 ? most : 0);
}

/* ---- relations ---- */

/* How many tuples a formula's atoms allow. */
static int64_t rows(const takt_dlog_node *n)
{
    if (n->kind == TAKT_DLOG_BOTH)
        return times(rows(n->a), rows(n->b));
    if (n->kind == TAKT_DLOG_EITHER)
        return least(rows(n->a) + rows(n->b), (int64_t)MOST_NUMBER + 1);
    return n->kind == TAKT_DLOG_ATOM ? n->relation->tuple_count : 1;
}

/* Upper bounds of the sizes of derived relations: recursive ones stay unknown. A few passes are
 * enough for most; more would only improve the bound. */
static void count_tuples(const takt_dlog_program *p)
{
    for (takt_dlog_relation *r = p->relations; r != NULL; r = r->next)
        r->tuple_count = r->has_rules ? (int64_t)MOST_NUMBER + 1 : r->fact_count;
    for (int pass = 0; pass < 4; pass++) {
        for (takt_dlog_relation *r = p->relations; r != NULL; r = r->next)
            r->derived = r->fact_count;
        for (const takt_dlog_clause *c = p->clauses; c != NULL; c = c->next)
            if (c->body != NULL)
                c->head->relation->derived =
                    least(c->head->relation->derived + rows(c->body), (int64_t)MOST_NUMBER + 1);
        for (takt_dlog_relation *r = p->relations; r != NULL; r = r->next)
            r->tuple_count = least(r->tuple_count, r->derived);
    }
}

/* Facts of the text; files were counted when they were read. */
static void add_fact(const takt_dlog_node *head)
{
    takt_dlog_relation *r = head->relation;
    r->fact_count++;
    for (int i = 0; i < head->term_count; i++)
        if (head->terms[i]->kind == TAKT_DLOG_NUMBER && head->terms[i]->number > r->largest[i])
            r->largest[i] = head->terms[i]->number;
}

/* The largest value of the variables that are counts and sums, in the head or not; -1: none. */
static int64_t most_made(const scope *s, const takt_dlog_node *n)
{
    if (n->kind == TAKT_DLOG_BOTH || n->kind == TAKT_DLOG_EITHER) {
        const int64_t a = most_made(s, n->a), b = most_made(s, n->b);
        return a > b ? a : b;
    }
    if (n->kind != TAKT_DLOG_COMPARE || n->b->kind != TAKT_DLOG_FOLD ||
        n->a->kind != TAKT_DLOG_NAME)
        return -1;
    const int64_t most = most_of_term(s, n->a);
    return most == unbound ? most_of_fold(s, n->b) : most;
}

/* Raises all->largest and the bounds of a clause's head; returns whether anything changed. A head
 * with arithmetic is refused when the rule is written. */
static bool follow(const takt_dlog_clause *c, takt_dlog_symbols *all)
{
    const scope s = {c->body, NULL, (int64_t)all->count, all->largest, EQUATIONS};
    takt_dlog_relation *r = c->head->relation;
    const int64_t made = most_made(&s, c->body);
    bool is_changed = made > all->largest;
    all->largest = is_changed ? made : all->largest;
    for (int i = 0; i < c->head->term_count; i++) {
        if (r->is_symbol[i] || c->head->terms[i]->kind == TAKT_DLOG_SUM)
            continue;
        int64_t most = most_of_term(&s, c->head->terms[i]);
        most = most == unbound ? all->largest : most; /* by way of many equations */
        if (most > r->largest[i]) {
            r->largest[i] = most;
            is_changed = true;
        }
    }
    return is_changed;
}

static bool has_fold(const takt_dlog_node *n)
{
    return n != NULL && (n->kind == TAKT_DLOG_FOLD || has_fold(n->a) || has_fold(n->b));
}

/* The line of the first count or sum. */
static int line_of(const takt_dlog_node *n)
{
    if (n->kind == TAKT_DLOG_FOLD)
        return n->line;
    return has_fold(n->a) ? line_of(n->a) : line_of(n->b);
}

static takt_status check(const takt_dlog_program *p, const takt_dlog_clause *c,
                         const takt_dlog_symbols *all, int64_t most)
{
    const scope s = {c->body, NULL, (int64_t)all->count, all->largest, EQUATIONS};
    const takt_dlog_relation *r = c->head->relation;
    bool is_large = most_made(&s, c->body) > most;
    for (int i = 0; i < r->arity; i++)
        is_large = is_large || r->largest[i] > most;
    return is_large ? takt_dlog_refuse(p, line_of(c->body),
                                       "a count or sum may become too large for", r->name)
                    : TAKT_OK;
}

/* Relations of tuples have no counts and sums, so that each needs a bit for every tuple. */
static takt_status check_sizes(const takt_dlog_program *p, const takt_dlog_symbols *all)
{
    for (const takt_dlog_relation *r = p->relations; r != NULL; r = r->next) {
        uint64_t bits = 1;
        for (int i = 0; i < r->arity; i++)
            if (!r->is_symbol[i] &&
                !takt_numbers_fit((uint64_t)(all->largest + 1), TAKT_DENSE_LIMIT))
                return takt_dlog_refuse(p, r->line,
                                        "a program with counts or sums, and numbers from 33554432 "
                                        "on, next to",
                                        r->name);
        for (int i = 0; i < r->arity && bits <= 8 * TAKT_DENSE_LIMIT; i++)
            bits *= r->is_symbol[i] ? all->count : (uint64_t)(all->largest + 1);
        if (bits > 8 * TAKT_DENSE_LIMIT)
            return takt_dlog_refuse(p, r->line,
                                    "a program with counts or sums, and a relation that takes "
                                    "more than 256 MiB in bits",
                                    r->name);
    }
    return TAKT_OK;
}

takt_status takt_dlog_bound(takt_dlog_program *p, takt_dlog_symbols *all)
{
    const int64_t most = all->largest > MOST_MADE ? all->largest : MOST_MADE;
    bool is_changed = false;
    int64_t rules = 0;
    for (const takt_dlog_clause *c = p->clauses; c != NULL; c = c->next)
        if (c->body == NULL) {
            add_fact(c->head);
        } else {
            rules++;
            is_changed = is_changed || has_fold(c->body); /* else all numbers are there already */
        }
    if (!is_changed)
        return TAKT_OK;
    count_tuples(p);
    /* In the order of most programs two rounds are enough; in reverse order each round follows one
     * rule. A count that feeds itself never ends. */
    const int64_t rounds = least(rules + 1, MOST_FOLLOWED / rules);
    for (int64_t round = 0; is_changed && (round < ROUNDS || round < rounds); round++) {
        is_changed = false;
        for (const takt_dlog_clause *c = p->clauses; c != NULL; c = c->next)
            if (c->body != NULL && follow(c, all))
                is_changed = true;
    }
    for (const takt_dlog_clause *c = p->clauses; c != NULL; c = c->next)
        if (has_fold(c->body))
            TAKT_TRY(check(p, c, all, is_changed ? -1 : most));
    for (const takt_dlog_relation *r = p->relations; r != NULL; r = r->next)
        for (int i = 0; i < r->arity; i++)
            all->largest = r->largest[i] > all->largest ? r->largest[i] : all->largest;
    return check_sizes(p, all);
}
