/* datalog_most.c - `n = max z : { body }` and min as ordinary rules: a value that the body allows,
 * and that is not below another one.
 *
 *     max_of_1(x, z) :- body.          x: variables that the aggregate shares with its clause
 *     max_of_2(x, z) :- max_of_1(x, z), max_of_1(x, z_), z_ > z.
 *     n = max z : { body }   becomes   max_of_1(x, n), !max_of_2(x, n)
 *
 * count and sum make numbers, which rules cannot choose: see datalog_fold.c.
 */
#include <string.h>

#include "logic/datalog_words.h"

/* Variables that an aggregate shares with its clause: groups. */
typedef struct shared {
    takt_span name[TAKT_DLOG_MOST_TERMS];
    bool is_symbol[TAKT_DLOG_MOST_TERMS];
    int count;
} shared;

static bool is_called(const takt_dlog_node *n, takt_span name)
{
    return n->kind == TAKT_DLOG_NAME && n->text.length == name.length &&
           memcmp(n->text.at, name.at, name.length) == 0;
}

bool takt_dlog_stands_in(const takt_dlog_node *n, takt_span name)
{
    if (n == NULL || n->kind == TAKT_DLOG_FOLD)
        return false;
    if (n->kind == TAKT_DLOG_MOST)
        return takt_dlog_stands_in(n->a, name);
    for (int i = 0; i < n->term_count; i++)
        if (takt_dlog_stands_in(n->terms[i], name))
            return true;
    return is_called(n, name) || takt_dlog_stands_in(n->a, name) || takt_dlog_stands_in(n->b, name);
}

/* An atom of the conjunction with the variable as an argument; its number in *argument. */
static const takt_dlog_node *binder(const takt_dlog_node *n, takt_span name, int *argument)
{
    if (n->kind == TAKT_DLOG_BOTH) {
        const takt_dlog_node *left = binder(n->a, name, argument);
        return left != NULL ? left : binder(n->b, name, argument);
    }
    for (int i = 0; n->kind == TAKT_DLOG_ATOM && i < n->term_count; i++)
        if (is_called(n->terms[i], name)) {
            *argument = i;
            return n;
        }
    return NULL;
}

/* ---- reading ---- */

bool takt_dlog_at_most(const takt_dlog_reader *r)
{
    takt_dlog_reader next = *r;
    if (r->kind != TAKT_DLOG_WORD || !(takt_dlog_at(r, "min") || takt_dlog_at(r, "max")))
        return false;
    takt_dlog_advance(&next); /* a functor has a bracket here, after spaces or comments too */
    return next.kind == TAKT_DLOG_WORD;
}

takt_dlog_node *takt_dlog_most(takt_dlog_reader *r, takt_dlog_node *result)
{
    takt_dlog_node *n = takt_dlog_above(r, TAKT_DLOG_MOST);
    if (n == NULL)
        return NULL;
    if (result->kind != TAKT_DLOG_NAME || r->in_most)
        return takt_dlog_wrong(r, "min and max are the value of a variable, not inside others");
    n->op = takt_dlog_at(r, "min") ? "<" : ">";
    n->a = result;
    takt_dlog_advance(r);
    n->text = takt_dlog_word(r);
    if (r->status == TAKT_OK && !takt_dlog_at(r, ":"))
        return takt_dlog_wrong(r, "min and max are of one variable");
    takt_dlog_advance(r);
    r->in_most = true;
    n->b = takt_dlog_braces(r);
    r->in_most = false;
    return n->b != NULL ? n : NULL;
}

/* ---- rules instead ---- */

static takt_dlog_node *refuse(takt_dlog_reader *r, const takt_dlog_node *n, const char *what,
                              takt_span name)
{
    if (r->status == TAKT_OK)
        r->status = takt_dlog_refuse(r->p, n->line, what, name);
    return NULL;
}

/* A relation of the groups and a number, under a name that the program does not use. */
static takt_dlog_relation *make_relation(takt_dlog_reader *r, const takt_dlog_node *n,
                                         const shared *s)
{
    takt_dlog_relation *of = takt_dlog_room(r, sizeof *of);
    const char *name = NULL;
    if (of == NULL)
        return NULL;
    do {
        name =
            takt_arena_format(&r->p->arena, "%s_of_%d", n->op[0] == '<' ? "min" : "max", ++r->made);
        if (name == NULL) {
            r->status = TAKT_ERR_MEMORY;
            return NULL;
        }
        of->name = takt_span_of(name);
    } while (takt_dlog_find(&r->p->names, of->name) != NULL);
    of->written = of->name;
    of->line = n->line;
    of->arity = s->count + 1;
    of->has_rules = true;
    memcpy(of->is_symbol, s->is_symbol, sizeof of->is_symbol);
    r->status = takt_dlog_name(r->p, &r->p->names, of->name, of);
    *r->p->last_relation = of;
    r->p->last_relation = &of->next;
    return r->status == TAKT_OK ? of : NULL;
}

static takt_dlog_node *variable(takt_dlog_reader *r, int line, takt_span name)
{
    takt_dlog_node *n = takt_dlog_node_of(r, TAKT_DLOG_NAME, 0);
    if (n != NULL) {
        n->line = line;
        n->text = name;
    }
    return n;
}

/* relation(groups, last) */
static takt_dlog_node *atom(takt_dlog_reader *r, takt_dlog_relation *of, const shared *s,
                            takt_span last)
{
    takt_dlog_node *n = of != NULL ? takt_dlog_node_of(r, TAKT_DLOG_ATOM, of->arity) : NULL;
    if (n == NULL)
        return NULL;
    n->line = of->line;
    n->relation = of;
    for (; n->term_count < of->arity; n->term_count++) {
        const takt_span name = n->term_count < s->count ? s->name[n->term_count] : last;
        if ((n->terms[n->term_count] = variable(r, of->line, name)) == NULL)
            return NULL;
    }
    return n;
}

static takt_dlog_node *pair(takt_dlog_reader *r, takt_dlog_kind kind, takt_dlog_node *a,
                            takt_dlog_node *b)
{
    takt_dlog_node *n = takt_dlog_node_of(r, kind, 0);
    if (n == NULL || a == NULL || b == NULL)
        return NULL;
    n->line = a->line;
    n->a = a;
    n->b = b;
    return n;
}

/* A variable that is neither one of the groups nor the one that is maximised. */
static takt_span other_than(takt_dlog_reader *r, const shared *s, takt_span target)
{
    const char *text = takt_arena_format(&r->p->arena, "%.*s_", (int)target.length, target.at);
    for (int i = 0; text != NULL && i < s->count; i++)
        if (takt_span_is(s->name[i], text)) {
            text = takt_arena_format(&r->p->arena, "%s_", text);
            i = -1;
        }
    if (text == NULL)
        r->status = TAKT_ERR_MEMORY;
    return takt_span_of(text != NULL ? text : "");
}

static takt_dlog_node *replace(takt_dlog_reader *r, takt_dlog_node *n, const shared *s)
{
    const takt_span other = other_than(r, s, n->text);
    takt_dlog_relation *all = make_relation(r, n, s), *below = make_relation(r, n, s);
    takt_dlog_add_clause(r, atom(r, all, s, n->text), n->b);
    takt_dlog_node *more =
        pair(r, TAKT_DLOG_COMPARE, variable(r, n->line, other), variable(r, n->line, n->text));
    if (more != NULL)
        more->op = n->op;
    more = pair(r, TAKT_DLOG_BOTH, atom(r, all, s, other), more);
    takt_dlog_add_clause(r, atom(r, below, s, n->text),
                         pair(r, TAKT_DLOG_BOTH, atom(r, all, s, n->text), more));
    takt_dlog_node *none = takt_dlog_above(r, TAKT_DLOG_NOT);
    if (none == NULL || takt_dlog_above(r, TAKT_DLOG_BOTH) == NULL)
        return NULL;
    none->a = atom(r, below, s, n->a->text);
    return pair(r, TAKT_DLOG_BOTH, atom(r, all, s, n->a->text), none->a != NULL ? none : NULL);
}

/* Adds the variables of a formula that its clause has as well, outside of aggregates. */
static bool add_shared(takt_dlog_reader *r, const takt_dlog_node *most, const takt_dlog_node *n,
                       const takt_dlog_scope *scope, shared *s)
{
    int at = 0;
    if (n == NULL)
        return true;
    for (int i = 0; i < n->term_count; i++)
        if (!add_shared(r, most, n->terms[i], scope, s))
            return false;
    if (n->kind != TAKT_DLOG_NAME)
        return add_shared(r, most, n->a, scope, s) && add_shared(r, most, n->b, scope, s);
    bool is_outside = takt_dlog_stands_in(scope->body, n->text), is_new = true;
    for (int i = 0; i < scope->count; i++)
        is_outside = is_outside || takt_dlog_stands_in(scope->heads[i], n->text);
    for (int i = 0; i < s->count; i++)
        is_new = is_new && !is_called(n, s->name[i]);
    if (!is_outside || !is_new)
        return true;
    if (is_called(n, most->text) || is_called(n, most->a->text))
        return refuse(r, n, "a variable of min or max that its clause has as well", n->text);
    const takt_dlog_node *inside = binder(most->b, n->text, &at);
    if (inside == NULL)
        return refuse(r, n, "a variable that no atom of the aggregate binds", n->text);
    s->is_symbol[s->count] = inside->relation->is_symbol[at];
    if (binder(scope->body, n->text, &at) == NULL)
        return refuse(r, n, "a witness of min or max, which no other atom binds", n->text);
    if (s->count + 1 == TAKT_DLOG_MOST_TERMS)
        return refuse(r, n, "an aggregate of more than 15 variables", n->text);
    s->name[s->count++] = n->text;
    return true;
}

static bool has_most(const takt_dlog_node *n)
{
    return n != NULL && (n->kind == TAKT_DLOG_MOST || has_most(n->a) || has_most(n->b));
}

takt_dlog_node *takt_dlog_without_most(takt_dlog_reader *r, takt_dlog_node *n,
                                       const takt_dlog_scope *scope)
{
    shared s = {.count = 0};
    int at = 0;
    if (n == NULL || !has_most(n) || r->status != TAKT_OK)
        return n;
    if (n->kind == TAKT_DLOG_BOTH) {
        n->a = takt_dlog_without_most(r, n->a, scope);
        n->b = takt_dlog_without_most(r, n->b, scope);
        return n->a != NULL && n->b != NULL ? n : NULL;
    }
    if (n->kind != TAKT_DLOG_MOST)
        return refuse(r, n, "min and max stand between commas, not inside ; or !", n->text);
    const takt_dlog_node *of = binder(n->b, n->text, &at);
    if (of == NULL || of->relation->is_symbol[at])
        return refuse(r, n, "min and max are of numbers that an atom binds, not", n->text);
    return add_shared(r, n, n->b, scope, &s) ? replace(r, n, &s) : NULL;
}
