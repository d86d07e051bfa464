/* datalog_check.c - what a Datalog program must not contain for its rules to mean the same.
 *
 * Variables range over a domain, so a variable that no atom binds would have values there, where
 * Soufflé refuses the clause. Names generated for the rules must not clash with the program's. */
#include <string.h>

#include "base/utf8.h"
#include "logic/datalog.h"

/* The other literals of the current conjunction. */
typedef struct conjunct {
    const takt_dlog_node *n;
    const struct conjunct *up;
} conjunct;

static bool same(takt_span a, takt_span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* ---- variables ---- */

static bool is_variable(const takt_dlog_node *n, takt_span name)
{
    return n->kind == TAKT_DLOG_NAME && same(n->text, name);
}

static bool is_constant(const takt_dlog_node *n)
{
    return n->kind == TAKT_DLOG_NUMBER || n->kind == TAKT_DLOG_STRING;
}

/* The other side of an equation with the variable, or NULL. */
static const takt_dlog_node *equal_to(const takt_dlog_node *n, takt_span name)
{
    if (n->kind != TAKT_DLOG_COMPARE || strcmp(n->op, "==") != 0)
        return NULL;
    return is_variable(n->a, name) ? n->b : is_variable(n->b, name) ? n->a : NULL;
}

static bool is_bound(const conjunct *all, takt_span name, int depth);

/* Whether a literal binds a variable; `all` are the literals of the rule, and `depth` limits
 * equations between variables. */
static bool binds(const takt_dlog_node *n, takt_span name, const conjunct *all, int depth)
{
    if (n->kind == TAKT_DLOG_BOTH)
        return binds(n->a, name, all, depth) || binds(n->b, name, all, depth);
    if (n->kind == TAKT_DLOG_EITHER)
        return binds(n->a, name, all, depth) && binds(n->b, name, all, depth);
    const takt_dlog_node *other = equal_to(n, name);
    if (other != NULL)
        return is_constant(other) || other->kind == TAKT_DLOG_FOLD ||
               (other->kind == TAKT_DLOG_NAME && depth > 0 &&
                is_bound(all, other->text, depth - 1));
    for (int i = 0; n->kind == TAKT_DLOG_ATOM && i < n->term_count; i++)
        if (is_variable(n->terms[i], name))
            return true;
    return false;
}

static bool is_bound(const conjunct *all, takt_span name, int depth)
{
    for (const conjunct *b = all; b != NULL; b = b->up)
        if (binds(b->n, name, all, depth))
            return true;
    return false;
}

enum { EQUATIONS = 4 }; /* in a row */

static takt_status check(const takt_dlog_program *p, const takt_dlog_node *n, const conjunct *b);

static takt_status check_term(const takt_dlog_program *p, const takt_dlog_node *t,
                              const conjunct *b, bool is_sum)
{
    if (t->kind == TAKT_DLOG_FOLD) {
        const conjunct inside = {t->b, b}, alone = {t->b, NULL};
        TAKT_TRY(check(p, t->b, b));
        for (int i = 0; i < t->term_count; i++) /* the braces say whether it is a symbol */
            TAKT_TRY(check_term(p, t->terms[i], &alone, false));
        return t->a != NULL ? check_term(p, t->a, &inside, true) : TAKT_OK;
    }
    if (t->kind == TAKT_DLOG_SUM) {
        TAKT_TRY(check_term(p, t->a, b, true));
        return check_term(p, t->b, b, true);
    }
    if (t->kind == TAKT_DLOG_ANY)
        return takt_dlog_refuse(p, t->line, "_ stands in atoms alone", (takt_span){"", 0});
    if (t->kind != TAKT_DLOG_NAME || is_bound(b, t->text, EQUATIONS))
        return TAKT_OK;
    return takt_dlog_refuse(p, t->line,
                            is_sum ? "arithmetic on a variable that no atom binds"
                                   : "a variable that no atom binds",
                            t->text);
}

/* Checks sums, and the variables of a negated atom. */
static takt_status check_atom(const takt_dlog_program *p, const takt_dlog_node *n,
                              const conjunct *b, bool is_negated)
{
    for (int i = 0; i < n->term_count; i++)
        if (n->terms[i]->kind == TAKT_DLOG_SUM ||
            (is_negated && n->terms[i]->kind == TAKT_DLOG_NAME))
            TAKT_TRY(check_term(p, n->terms[i], b, false));
    return TAKT_OK;
}

static takt_status check(const takt_dlog_program *p, const takt_dlog_node *n, const conjunct *b)
{
    conjunct next = {n, b};
    bool is_sum;
    switch (n->kind) {
    case TAKT_DLOG_BOTH:
        next.n = n->b;
        TAKT_TRY(check(p, n->a, &next));
        next.n = n->a;
        return check(p, n->b, &next);
    case TAKT_DLOG_EITHER: TAKT_TRY(check(p, n->a, b)); return check(p, n->b, b);
    case TAKT_DLOG_NOT: /* a negated atom binds nothing */
        return n->a->kind == TAKT_DLOG_ATOM ? check_atom(p, n->a, b, true) : check(p, n->a, b);
    case TAKT_DLOG_ATOM: return check_atom(p, n, &next, false);
    case TAKT_DLOG_COMPARE:
        is_sum = n->a->kind == TAKT_DLOG_SUM || n->b->kind == TAKT_DLOG_SUM;
        if (!is_sum)
            b = &next; /* an equation binds its own variable */
        TAKT_TRY(check_term(p, n->a, b, is_sum));
        return check_term(p, n->b, b, is_sum);
    default: return TAKT_OK;
    }
}

takt_status takt_dlog_check_clause(const takt_dlog_program *p, const takt_dlog_clause *c)
{
    const conjunct body = {c->body, NULL};
    TAKT_TRY(check(p, c->body, NULL));
    for (int i = 0; i < c->head->term_count; i++)
        TAKT_TRY(check_term(p, c->head->terms[i], &body, false));
    return TAKT_OK;
}

bool takt_dlog_stands_in_atom(const takt_dlog_node *n, takt_span name)
{
    if (n == NULL || n->kind == TAKT_DLOG_FOLD)
        return false;
    for (int i = 0; i < n->term_count; i++)
        if (is_variable(n->terms[i], name))
            return true;
    return takt_dlog_stands_in_atom(n->a, name) || takt_dlog_stands_in_atom(n->b, name);
}

/* Whether a part of the body `all` says that a variable is a symbol. */
static bool says_symbol(const takt_dlog_node *all, const takt_dlog_node *n, takt_span name,
                        int depth)
{
    if (n == NULL || n->kind == TAKT_DLOG_FOLD)
        return false;
    for (int i = 0; i < n->term_count; i++)
        if (is_variable(n->terms[i], name))
            return n->relation->is_symbol[i];
    if (n->kind != TAKT_DLOG_COMPARE)
        return says_symbol(all, n->a, name, depth) || says_symbol(all, n->b, name, depth);
    const takt_dlog_node *other = is_variable(n->a, name)   ? n->b
                                  : is_variable(n->b, name) ? n->a
                                                            : NULL;
    return other != NULL &&
           (other->kind == TAKT_DLOG_STRING || (other->kind == TAKT_DLOG_NAME && depth > 0 &&
                                                says_symbol(all, all, other->text, depth - 1)));
}

bool takt_dlog_is_symbolic(const takt_dlog_node *body, takt_span name)
{
    return says_symbol(body, body, name, EQUATIONS);
}

/* ---- names ---- */

static bool is_word(const char *name, size_t length)
{
    static const char *const words[] = {
        "and",    "or",       "not",        "implies", "iff",    "exists", "forall",
        "where",  "in",       "if",         "else",    "sum",    "min",    "max",
        "mean",   "product",  "at_least",   "count",   "true",   "false",  "model",
        "rule",   "relation", "constraint", "domain",  "return", "layer",  "op",
        "symbol", "number",   "import",     "state",   "for",    "while"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (takt_span_is((takt_span){name, length}, words[i]))
            return true;
    return false;
}

takt_status takt_dlog_written(takt_dlog_program *p, takt_span name, takt_span *written)
{
    char *copy = takt_arena_array(&p->arena, name.length + 2, 1);
    if (copy == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < name.length; i++)
        copy[i] = name.at[i] == '?' ? '_' : name.at[i];
    *written = (takt_span){copy, name.length};
    if (is_word(copy, name.length))
        copy[written->length++] = '_';
    return TAKT_OK;
}

bool takt_dlog_is_made_up(takt_span name)
{
    if (takt_span_is(name, "_"))
        return true;
    const size_t word = name.length > 5 && memcmp(name.at, "each_", 5) == 0 ? 5 : 4;
    if (name.length < 5 ||
        (word == 4 && memcmp(name.at, "arg_", 4) != 0 && memcmp(name.at, "any_", 4) != 0))
        return false;
    for (size_t i = word; i < name.length; i++)
        if (name.at[i] < '0' || name.at[i] > '9')
            return false;
    return true;
}

static takt_status taken(const takt_dlog_program *p, const takt_dlog_relation *a,
                         const takt_dlog_relation *b)
{
    return takt_dlog_refuse(p, b->line > a->line ? b->line : a->line,
                            "the rules need this name for something else", b->name);
}

takt_status takt_dlog_check_names(takt_dlog_program *p)
{
    static const char *const tails[] = {"facts", "size"};
    takt_dlog_table written = {0};
    for (takt_dlog_relation *r = p->relations; r != NULL; r = r->next) {
        const takt_dlog_relation *other = takt_dlog_find(&written, r->written);
        if (other != NULL)
            return taken(p, other, r);
        TAKT_TRY(takt_dlog_name(p, &written, r->written, r));
    }
    for (const takt_dlog_relation *r = p->relations; r != NULL; r = r->next)
        for (int i = 0; i < 2; i++) {
            const char *longer = takt_arena_format(&p->arena, "%.*s_%s", (int)r->written.length,
                                                   r->written.at, tails[i]);
            if (longer == NULL)
                return TAKT_ERR_MEMORY;
            const takt_dlog_relation *other =
                takt_dlog_find(&written, (takt_span){longer, strlen(longer)});
            if (other != NULL)
                return taken(p, r, other);
        }
    return TAKT_OK;
}

/* ---- facts ---- */

const char *takt_dlog_unfit(const takt_dlog_relation *r, int index, takt_span symbol)
{
    if (symbol.length == 0)
        return "an empty symbol is not read";
    if (index == 0 && symbol.at[0] == '#')
        return "a line of facts that begins with # would be a comment";
    if (r->arity == 1 && memchr(symbol.at, ',', symbol.length) != NULL)
        return "a comma in the only column of a fact is not read";
    for (size_t i = 0; i < symbol.length; i++)
        if (symbol.at[i] == '"' || symbol.at[i] == '\\' || (unsigned char)symbol.at[i] < ' ')
            return "a symbol with quotes, backslashes or control characters is not read";
    return takt_utf8_check(symbol.at, symbol.length) == symbol.length ? NULL
                                                                      : "a symbol is not UTF-8";
}
