/* datalog_read.c - the text of a Datalog program as clauses. */
#include <string.h>

#include "logic/datalog_words.h"

/* ---- terms ---- */

static takt_dlog_node *node(takt_dlog_reader *r, takt_dlog_kind kind)
{
    return takt_dlog_node_of(r, kind, 0);
}

static takt_dlog_node *number(takt_dlog_reader *r)
{
    takt_dlog_node *n = node(r, TAKT_DLOG_NUMBER);
    const int64_t value = takt_dlog_digits(r->word);
    if (value < 0)
        return takt_dlog_wrong(r, "only numbers from 0 to 2147483600 are read");
    if (n != NULL)
        n->number = value;
    takt_dlog_advance(r);
    return n;
}

static takt_dlog_node *sum(takt_dlog_reader *r, int level);

static takt_dlog_node *primary(takt_dlog_reader *r)
{
    takt_dlog_node *n;
    if (r->kind == TAKT_DLOG_DIGITS)
        return number(r);
    if (takt_dlog_take(r, "(")) {
        n = ++r->depth < TAKT_DLOG_DEPTH ? sum(r, 0) : takt_dlog_wrong(r, "this nests too deep");
        r->depth--;
        return takt_dlog_need(r, ")") ? n : NULL;
    }
    if (r->kind != TAKT_DLOG_QUOTED && r->kind != TAKT_DLOG_WORD)
        return takt_dlog_wrong(r, "terms are variables, names, numbers and arithmetic");
    n = node(r, r->kind == TAKT_DLOG_QUOTED ? TAKT_DLOG_STRING
                : takt_dlog_at(r, "_")      ? TAKT_DLOG_ANY
                                            : TAKT_DLOG_NAME);
    takt_dlog_advance(r);
    if (takt_dlog_at(r, "(") || (takt_dlog_at(r, ":") && !r->in_target))
        return takt_dlog_wrong(r, "functors and aggregates are not read");
    return n;
}

/* / and % of constants only: for other operands Soufflé rounds differently, and the divisor may be
 * 0. */
static bool divides(takt_dlog_reader *r, const takt_dlog_node *n)
{
    if (n->op[0] != '/' && n->op[0] != '%')
        return true;
    if (n->a->kind == TAKT_DLOG_NUMBER && n->b->kind == TAKT_DLOG_NUMBER && n->b->number > 0)
        return true;
    if (r->status == TAKT_OK)
        r->status =
            takt_dlog_refuse(r->p, n->line, "only numbers are divided, and not by 0", n->text);
    return false;
}

/* + and -, then * / %. */
static takt_dlog_node *sum(takt_dlog_reader *r, int level)
{
    static const char *const signs[2][3] = {{"+", "-", "+"}, {"*", "/", "%"}};
    takt_dlog_node *left = level == 0 ? sum(r, 1) : primary(r);
    for (int i = 0; i < 3 && left != NULL && r->status == TAKT_OK; i++) {
        if (!takt_dlog_at(r, signs[level][i]))
            continue;
        takt_dlog_node *both = takt_dlog_above(r, TAKT_DLOG_SUM);
        takt_dlog_advance(r);
        if (both == NULL)
            return NULL;
        both->op = signs[level][i][0] == '/' ? "//" : signs[level][i];
        both->a = left;
        both->b = level == 0 ? sum(r, 1) : primary(r);
        left = both->b != NULL && divides(r, both) ? both : NULL;
        i = -1;
    }
    return r->status == TAKT_OK ? left : NULL;
}

takt_dlog_node *takt_dlog_term(takt_dlog_reader *r)
{
    r->term_signs = 0;
    return sum(r, 0);
}

/* ---- literals ---- */

static takt_dlog_relation *relation(takt_dlog_reader *r, takt_span word)
{
    takt_dlog_relation *of = takt_dlog_find(&r->p->names, word);
    if (of == NULL && r->status == TAKT_OK)
        r->status = takt_dlog_refuse(r->p, r->line, "there is no .decl of", word);
    return of;
}

static takt_dlog_node *atom(takt_dlog_reader *r, takt_span word)
{
    takt_dlog_relation *of = relation(r, word);
    takt_dlog_node *n = of != NULL ? takt_dlog_node_of(r, TAKT_DLOG_ATOM, of->arity) : NULL;
    if (n == NULL || !takt_dlog_need(r, "("))
        return NULL;
    n->relation = of;
    while (!takt_dlog_at(r, ")") && r->status == TAKT_OK) {
        if (n->term_count == n->relation->arity)
            return takt_dlog_wrong(r, "more arguments than the .decl has");
        if ((n->terms[n->term_count] = takt_dlog_term(r)) == NULL)
            return NULL;
        n->term_count++;
        if (!takt_dlog_at(r, ")") && !takt_dlog_need(r, ","))
            return NULL;
    }
    takt_dlog_advance(r);
    return n->term_count == n->relation->arity
               ? n
               : takt_dlog_wrong(r, "fewer arguments than the .decl has");
}

static takt_dlog_node *compare(takt_dlog_reader *r)
{
    static const char *const signs[][2] = {{"=", "=="},  {"!=", "!="}, {"<", "<"},
                                           {"<=", "<="}, {">", ">"},   {">=", ">="}};
    takt_dlog_node *left = takt_dlog_term(r), *n = node(r, TAKT_DLOG_COMPARE);
    for (size_t i = 0; n != NULL && left != NULL && i < sizeof signs / sizeof *signs; i++) {
        if (!takt_dlog_take(r, signs[i][0]))
            continue;
        if (i == 0 && takt_dlog_at_most(r))
            return takt_dlog_most(r, left);
        n->op = signs[i][1];
        n->a = left;
        n->b = takt_dlog_at_fold(r) ? takt_dlog_fold(r) : takt_dlog_term(r);
        return n->b != NULL ? n : NULL;
    }
    return takt_dlog_wrong(r, "a comparison or an atom is wanted here");
}

static takt_dlog_node *body(takt_dlog_reader *r);

static takt_dlog_node *literal(takt_dlog_reader *r)
{
    takt_dlog_node *n;
    if (takt_dlog_at(r, "!")) {
        n = takt_dlog_above(r, TAKT_DLOG_NOT);
        takt_dlog_advance(r);
        return n != NULL && (n->a = literal(r)) != NULL ? n : NULL;
    }
    if (takt_dlog_at(r, "true") || takt_dlog_at(r, "false")) {
        n = node(r, TAKT_DLOG_TRUTH);
        if (n != NULL)
            n->number = takt_dlog_at(r, "true");
        takt_dlog_advance(r);
        return n;
    }
    if (r->kind == TAKT_DLOG_WORD && r->at < r->end && *r->at == '(')
        return atom(r, takt_dlog_word(r));
    if (!takt_dlog_at(r, "("))
        return compare(r);
    takt_dlog_advance(r);
    n = body(r);
    return takt_dlog_need(r, ")") ? n : NULL;
}

static takt_dlog_node *join(takt_dlog_reader *r, takt_dlog_kind kind)
{
    const char *sign = kind == TAKT_DLOG_BOTH ? "," : ";";
    takt_dlog_node *left = kind == TAKT_DLOG_BOTH ? literal(r) : join(r, TAKT_DLOG_BOTH);
    while (left != NULL && takt_dlog_at(r, sign)) {
        takt_dlog_node *both = takt_dlog_above(r, kind);
        takt_dlog_advance(r);
        if (both == NULL)
            return NULL;
        both->a = left;
        both->b = kind == TAKT_DLOG_BOTH ? literal(r) : join(r, TAKT_DLOG_BOTH);
        left = both->b != NULL ? both : NULL;
    }
    return r->status == TAKT_OK ? left : NULL;
}

static takt_dlog_node *body(takt_dlog_reader *r)
{
    takt_dlog_node *n = ++r->depth < TAKT_DLOG_DEPTH ? join(r, TAKT_DLOG_EITHER)
                                                     : takt_dlog_wrong(r, "this nests too deep");
    r->depth--;
    return n;
}

takt_dlog_node *takt_dlog_braces(takt_dlog_reader *r)
{
    if (!takt_dlog_take(r, "{"))
        return literal(r);
    takt_dlog_node *n = body(r);
    return takt_dlog_need(r, "}") ? n : NULL;
}

/* ---- statements ---- */

void takt_dlog_add_clause(takt_dlog_reader *r, takt_dlog_node *head, takt_dlog_node *body)
{
    takt_dlog_clause *c = r->status == TAKT_OK ? takt_dlog_room(r, sizeof *c) : NULL;
    if (c == NULL)
        return;
    c->head = head;
    c->body = body;
    *(body != NULL ? &head->relation->has_rules : &head->relation->has_facts) = true;
    *r->p->last_clause = c;
    r->p->last_clause = &c->next;
}

static void clause(takt_dlog_reader *r)
{
    takt_dlog_node *heads[TAKT_DLOG_MOST_TERMS], *rest = NULL;
    int count = 0;
    r->signs = 0;
    do {
        if (count == TAKT_DLOG_MOST_TERMS)
            takt_dlog_wrong(r, "too many heads");
        else
            heads[count++] = atom(r, takt_dlog_word(r));
    } while (takt_dlog_take(r, ","));
    if (takt_dlog_take(r, ":-"))
        rest = body(r);
    if (!takt_dlog_need(r, "."))
        return;
    const takt_dlog_scope scope = {heads, count, rest};
    takt_dlog_own_variables(r, rest, &scope);
    rest = takt_dlog_without_most(r, rest, &scope);
    for (int i = 0; i < count && r->status == TAKT_OK; i++)
        takt_dlog_add_clause(r, heads[i], rest);
}

/* ---- relations ---- */

/* Skips the contents of a directive, up to the closing bracket. */
static void skip_brackets(takt_dlog_reader *r)
{
    if (!takt_dlog_take(r, "("))
        return;
    while (r->status == TAKT_OK && r->kind != TAKT_DLOG_END && !takt_dlog_at(r, ")"))
        takt_dlog_advance(r);
    takt_dlog_need(r, ")");
}

static void skip_decl(takt_dlog_reader *r)
{
    do
        (void)takt_dlog_word(r);
    while (takt_dlog_take(r, ","));
    skip_brackets(r);
    takt_dlog_skip_hints(r);
}

static takt_dlog_relation *declare_name(takt_dlog_reader *r)
{
    takt_dlog_relation *of = takt_dlog_room(r, sizeof *of);
    if (of == NULL)
        return NULL;
    of->line = r->line;
    of->name = takt_dlog_word(r);
    if (r->status == TAKT_OK && takt_dlog_find(&r->p->names, of->name) != NULL)
        r->status = takt_dlog_refuse(r->p, of->line, "a second .decl of", of->name);
    if (r->status == TAKT_OK)
        r->status = takt_dlog_written(r->p, of->name, &of->written);
    if (r->status == TAKT_OK)
        r->status = takt_dlog_name(r->p, &r->p->names, of->name, of);
    *r->p->last_relation = of;
    r->p->last_relation = &of->next;
    return of;
}

/* Several names may share the type that follows them. */
static void declare(takt_dlog_reader *r)
{
    takt_dlog_relation *const first = declare_name(r);
    while (first != NULL && takt_dlog_take(r, ","))
        (void)declare_name(r);
    takt_dlog_need(r, "(");
    while (r->status == TAKT_OK && !takt_dlog_at(r, ")")) {
        if (first->arity == TAKT_DLOG_MOST_TERMS) {
            takt_dlog_wrong(r, "more than 16 arguments");
            return;
        }
        (void)takt_dlog_word(r);
        takt_dlog_need(r, ":");
        first->is_symbol[first->arity++] = takt_dlog_is_symbol(r, takt_dlog_word(r));
        if (!takt_dlog_at(r, ")"))
            takt_dlog_need(r, ",");
    }
    takt_dlog_advance(r);
    takt_dlog_skip_hints(r);
    for (takt_dlog_relation *of = first; r->status == TAKT_OK && of != NULL; of = of->next) {
        of->arity = first->arity;
        memcpy(of->is_symbol, first->is_symbol, sizeof of->is_symbol);
    }
}

/* IO=file or filename="x.facts"; other options would change what is read. */
static void option(takt_dlog_reader *r, takt_dlog_relation *of, bool is_input)
{
    const takt_span key = takt_dlog_word(r);
    const bool is_name = takt_span_is(key, "filename");
    takt_dlog_need(r, "=");
    if (r->status != TAKT_OK)
        return;
    if (!is_name && !takt_span_is(key, "IO"))
        r->status = takt_dlog_refuse(r->p, r->line, "options are IO and filename, not", key);
    else if (r->kind != TAKT_DLOG_QUOTED && (is_name || r->kind != TAKT_DLOG_WORD))
        takt_dlog_wrong(r, "a string is wanted here");
    else if (is_input && !is_name && !takt_span_is(r->word, "file"))
        takt_dlog_wrong(r, "facts come from files alone");
    else if (is_input && is_name)
        of->input = takt_arena_text(&r->p->arena, r->word.at, r->word.length);
    takt_dlog_advance(r);
}

/* name(IO=file, filename="x.facts") or name, ... */
static void direct(takt_dlog_reader *r, takt_span word)
{
    takt_dlog_relation *of = relation(r, takt_dlog_word(r));
    const bool is_input = takt_span_is(word, "input");
    if (of == NULL)
        return;
    of->is_output = of->is_output || takt_span_is(word, "output");
    of->is_counted = of->is_counted || takt_span_is(word, "printsize");
    if (is_input)
        of->input =
            takt_arena_format(&r->p->arena, "%.*s.facts", (int)of->name.length, of->name.at);
    if (is_input && of->input == NULL)
        r->status = TAKT_ERR_MEMORY;
    if (!takt_dlog_take(r, "("))
        return;
    while (r->status == TAKT_OK && !takt_dlog_at(r, ")")) {
        option(r, of, is_input);
        if (!takt_dlog_at(r, ")"))
            takt_dlog_need(r, ",");
    }
    takt_dlog_advance(r);
    if (is_input && of->input == NULL && r->status == TAKT_OK)
        r->status = TAKT_ERR_MEMORY;
}

static void directive(takt_dlog_reader *r)
{
    const takt_span word = takt_dlog_word(r);
    if (takt_span_is(word, "decl") && r->stage == TAKT_DLOG_DECLS)
        declare(r);
    else if (takt_span_is(word, "decl"))
        skip_decl(r);
    else if (takt_span_is(word, "type"))
        takt_dlog_declare_type(r);
    else if (takt_span_is(word, "input") || takt_span_is(word, "output") ||
             takt_span_is(word, "printsize"))
        do {
            if (r->stage == TAKT_DLOG_CLAUSES) {
                direct(r, word);
            } else {
                (void)takt_dlog_word(r);
                skip_brackets(r);
            }
        } while (r->status == TAKT_OK && takt_dlog_take(r, ","));
    else if (takt_span_is(word, "pragma"))
        takt_dlog_skip_pragma(r);
    else if (r->status == TAKT_OK)
        r->status = takt_dlog_refuse(r->p, r->line,
                                     "directives are .decl, .type, .input, .output and "
                                     ".printsize, not",
                                     word);
}

/* Up to its full stop. */
static void skip_clause(takt_dlog_reader *r)
{
    while (r->status == TAKT_OK && r->kind != TAKT_DLOG_END && !takt_dlog_at(r, "."))
        takt_dlog_advance(r);
    if (r->kind != TAKT_DLOG_END)
        takt_dlog_advance(r);
}

takt_status takt_dlog_read(takt_dlog_program *p, takt_span text)
{
    for (int stage = 0; stage < TAKT_DLOG_STAGES; stage++) {
        takt_dlog_reader r = {
            .p = p, .at = text.at, .end = text.at + text.length, .line = 1, .stage = stage};
        for (takt_dlog_advance(&r); r.kind != TAKT_DLOG_END && r.status == TAKT_OK;) {
            if (takt_dlog_take(&r, "."))
                directive(&r);
            else if (stage == TAKT_DLOG_CLAUSES)
                clause(&r);
            else
                skip_clause(&r);
        }
        TAKT_TRY(r.status);
    }
    return TAKT_OK;
}
