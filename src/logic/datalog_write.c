/* datalog_write.c - clauses of a Datalog program as rules.
 *
 * All symbols in the text and its files of facts form one domain, all numbers another. A relation
 * with facts and rules becomes a relation of facts and a rule that includes them. */
#include <stdio.h>
#include <string.h>

#include "logic/datalog.h"

enum { MOST_NAMES = 64 };

typedef struct writer {
    takt_dlog_program *p;
    takt_text *out;
    takt_dlog_symbols all;
    takt_span seen[MOST_NAMES]; /* variables of the current clause: those of the head first */
    takt_span written[MOST_NAMES];
    int seen_count, fresh;
} writer;

static void put_domains(const writer *w)
{
    takt_text_add(w->out, "domain symbol = ");
    for (size_t i = 0; i < w->all.count; i++)
        takt_text_add(w->out, "%s\"%.*s\"",
                      i == 0       ? "["
                      : i % 8 == 0 ? ",\n  "
                                   : ", ",
                      (int)w->all.at[i].length, w->all.at[i].at);
    takt_text_add(w->out, "%s\ndomain number = %lld\n\n", w->all.count > 0 ? "]" : "1",
                  w->all.largest >= 0 ? (long long)w->all.largest + 1 : 1);
}

/* ---- names ---- */

static void put_span(const writer *w, takt_span s)
{
    takt_text_add(w->out, "%.*s", (int)s.length, s.at);
}

/* The index of a variable of the current clause; seen_count: it has none. */
static int place_of(const writer *w, takt_span name)
{
    int i = 0;
    while (i < w->seen_count &&
           (w->seen[i].length != name.length || memcmp(w->seen[i].at, name.at, name.length) != 0))
        i++;
    return i;
}

static bool is_seen(const writer *w, takt_span name)
{
    return place_of(w, name) < w->seen_count;
}

static takt_status see(writer *w, const takt_dlog_node *n)
{
    takt_span written;
    if (is_seen(w, n->text))
        return TAKT_OK;
    if (w->seen_count == MOST_NAMES)
        return takt_dlog_refuse(w->p, n->line, "a clause has more than 64 variables", n->text);
    TAKT_TRY(takt_dlog_written(w->p, n->text, &written));
    bool is_taken = takt_dlog_is_made_up(written) && n->number == 0;
    for (int i = 0; i < w->seen_count; i++)
        is_taken = is_taken || (w->written[i].length == written.length &&
                                memcmp(w->written[i].at, written.at, written.length) == 0);
    if (is_taken)
        return takt_dlog_refuse(w->p, n->line, "the rules need this name for something else",
                                n->text);
    w->seen[w->seen_count] = n->text;
    w->written[w->seen_count++] = written;
    return TAKT_OK;
}

static takt_status see_all(writer *w, const takt_dlog_node *n)
{
    if (n == NULL || n->kind == TAKT_DLOG_FOLD)
        return TAKT_OK;
    if (n->kind == TAKT_DLOG_NAME)
        return see(w, n);
    TAKT_TRY(see_all(w, n->a));
    TAKT_TRY(see_all(w, n->b));
    for (int i = 0; i < n->term_count; i++)
        TAKT_TRY(see_all(w, n->terms[i]));
    return TAKT_OK;
}

/* ---- formulas ---- */

static void put_term(writer *w, const takt_dlog_node *n)
{
    if (n->kind == TAKT_DLOG_STRING) {
        takt_text_add(w->out, "\"%.*s\"", (int)n->text.length, n->text.at);
    } else if (n->kind == TAKT_DLOG_NUMBER) {
        takt_text_add(w->out, "%lld", (long long)n->number);
    } else if (n->kind == TAKT_DLOG_NAME) {
        put_span(w, w->written[place_of(w, n->text)]);
    } else if (n->kind == TAKT_DLOG_ANY) {
        takt_text_add(w->out, "any_%d", w->fresh++);
    } else {
        takt_text_add(w->out, "(");
        put_term(w, n->a);
        takt_text_add(w->out, " %s ", n->op);
        put_term(w, n->b);
        takt_text_add(w->out, ")");
    }
}

/* exists for the arguments that may be anything, then the atom. */
static void put_atom(writer *w, const takt_dlog_node *n)
{
    int any = 0;
    const int first = w->fresh;
    for (int i = 0; i < n->term_count; i++)
        if (n->terms[i]->kind == TAKT_DLOG_ANY)
            takt_text_add(w->out, any++ == 0 ? "(exists any_%d" : ", any_%d", w->fresh++);
    takt_text_add(w->out, "%s", any > 0 ? ": " : "");
    w->fresh = first;
    put_span(w, n->relation->written);
    takt_text_add(w->out, "(");
    for (int i = 0; i < n->term_count; i++) {
        takt_text_add(w->out, "%s", i > 0 ? ", " : "");
        put_term(w, n->terms[i]);
    }
    takt_text_add(w->out, "%s", any > 0 ? "))" : ")");
}

static takt_status put_formula(writer *w, const takt_dlog_node *n);

/* (sum y, z: (t if (...) else 0)) */
static takt_status put_fold(writer *w, const takt_dlog_node *n)
{
    const int first = w->seen_count;
    const bool is_sum = n->a != NULL || n->term_count == 0;
    takt_text_add(w->out, "(");
    for (int i = 0; i < n->term_count; i++) {
        TAKT_TRY(see(w, n->terms[i]));
        takt_text_add(w->out, "%s%s", i == 0 ? n->op : ",", " ");
        put_term(w, n->terms[i]);
        if (!takt_dlog_stands_in_atom(n->b, n->terms[i]->text))
            takt_text_add(w->out, " in %s",
                          takt_dlog_is_symbolic(n->b, n->terms[i]->text) ? "symbol" : "number");
    }
    takt_text_add(w->out, "%s", n->term_count > 0 ? ": (" : "");
    if (n->a != NULL)
        put_term(w, n->a);
    takt_text_add(w->out, "%s", n->a != NULL ? " if (" : is_sum ? "1 if (" : "");
    TAKT_TRY(put_formula(w, n->b));
    takt_text_add(w->out, "%s%s)", is_sum ? ") else 0" : "", n->term_count > 0 ? ")" : "");
    w->seen_count = first;
    return TAKT_OK;
}

static takt_status put_formula(writer *w, const takt_dlog_node *n)
{
    const bool is_pair = n->kind == TAKT_DLOG_BOTH || n->kind == TAKT_DLOG_EITHER;
    if (n->kind == TAKT_DLOG_ATOM) {
        put_atom(w, n);
    } else if (n->kind == TAKT_DLOG_TRUTH) {
        takt_text_add(w->out, "%s", n->number != 0 ? "true" : "false");
    } else if (n->kind == TAKT_DLOG_COMPARE) {
        if (n->a->kind == TAKT_DLOG_ANY || n->b->kind == TAKT_DLOG_ANY)
            return takt_dlog_refuse(w->p, n->line, "_ stands in atoms alone", (takt_span){"", 0});
        put_term(w, n->a);
        takt_text_add(w->out, " %s ", n->op);
        if (n->b->kind == TAKT_DLOG_FOLD)
            return put_fold(w, n->b);
        put_term(w, n->b);
    } else {
        takt_text_add(w->out, is_pair ? "(" : "not (");
        TAKT_TRY(put_formula(w, n->a));
        if (is_pair) {
            takt_text_add(w->out, n->kind == TAKT_DLOG_BOTH ? " and " : " or ");
            TAKT_TRY(put_formula(w, n->b));
        }
        takt_text_add(w->out, ")");
    }
    return TAKT_OK;
}

/* ---- clauses ---- */

/* rule p(x, arg_1: symbol) = exists y: arg_1 == "a" and (...) */
static takt_status put_rule(writer *w, const takt_dlog_clause *c)
{
    const takt_dlog_node *head = c->head;
    bool is_own[TAKT_DLOG_MOST_TERMS];
    w->seen_count = w->fresh = 0;
    takt_text_add(w->out, "  rule ");
    put_span(w, head->relation->written);
    takt_text_add(w->out, "(");
    for (int i = 0; i < head->term_count; i++) {
        const takt_dlog_node *t = head->terms[i];
        if (t->kind == TAKT_DLOG_SUM || t->kind == TAKT_DLOG_ANY)
            return takt_dlog_refuse(w->p, t->line, "a head that makes new values is not read",
                                    t->text);
        is_own[i] = t->kind == TAKT_DLOG_NAME && !is_seen(w, t->text);
        takt_text_add(w->out, "%s", i > 0 ? ", " : "");
        if (is_own[i]) {
            TAKT_TRY(see(w, t));
            put_span(w, w->written[place_of(w, t->text)]);
        } else {
            takt_text_add(w->out, "arg_%d", i);
        }
        takt_text_add(w->out, ": %s", head->relation->is_symbol[i] ? "symbol" : "number");
    }
    takt_text_add(w->out, ") = ");
    const int first = w->seen_count;
    TAKT_TRY(takt_dlog_check_clause(w->p, c));
    TAKT_TRY(see_all(w, c->body));
    for (int i = first; i < w->seen_count; i++) {
        takt_text_add(w->out, i == first ? "exists " : ", ");
        put_span(w, w->written[i]);
        if (!takt_dlog_stands_in_atom(c->body, w->seen[i]))
            takt_text_add(w->out, " in %s",
                          takt_dlog_is_symbolic(c->body, w->seen[i]) ? "symbol" : "number");
    }
    takt_text_add(w->out, w->seen_count > first ? ": " : "");
    for (int i = 0; i < head->term_count; i++) {
        if (is_own[i])
            continue;
        takt_text_add(w->out, "arg_%d == ", i);
        put_term(w, head->terms[i]);
        takt_text_add(w->out, " and ");
    }
    TAKT_TRY(put_formula(w, c->body));
    takt_text_add(w->out, "\n");
    return TAKT_OK;
}

static void put_types(const writer *w, const takt_dlog_relation *r, const char *before)
{
    for (int i = 0; i < r->arity; i++)
        takt_text_add(w->out, "%s%s%s", i > 0 ? ", " : "", before,
                      r->is_symbol[i] ? "symbol" : "number");
}

static takt_status put_fact(writer *w, const takt_dlog_node *head, bool is_first)
{
    takt_text_add(w->out, is_first ? "[" : ", [");
    for (int i = 0; i < head->term_count; i++) {
        const takt_dlog_node *t = head->terms[i];
        const bool is_right =
            t->kind == (head->relation->is_symbol[i] ? TAKT_DLOG_STRING : TAKT_DLOG_NUMBER);
        if (!is_right)
            return takt_dlog_refuse(w->p, t->line,
                                    "a fact has names and numbers, as its .decl says", t->text);
        const char *unfit =
            t->kind == TAKT_DLOG_STRING ? takt_dlog_unfit(head->relation, i, t->text) : NULL;
        if (unfit != NULL)
            return takt_dlog_refuse(w->p, t->line, unfit, t->text);
        takt_text_add(w->out, "%s", i > 0 ? ", " : "");
        put_term(w, t);
    }
    takt_text_add(w->out, "]");
    return TAKT_OK;
}

/* Arguments of a rule about a whole relation. */
static void put_arguments(const writer *w, const takt_dlog_relation *r, bool has_types)
{
    for (int i = 0; i < r->arity; i++)
        takt_text_add(w->out, "%sarg_%d%s%s", i > 0 ? ", " : "", i, has_types ? ": " : "",
                      !has_types        ? ""
                      : r->is_symbol[i] ? "symbol"
                                        : "number");
}

static void put_whole(const writer *w, const takt_dlog_relation *r, const char *value)
{
    takt_text_add(w->out, "  rule ");
    put_span(w, r->written);
    takt_text_add(w->out, "(");
    put_arguments(w, r, true);
    takt_text_add(w->out, ") = ");
    if (value != NULL) {
        takt_text_add(w->out, "%s\n", value);
        return;
    }
    put_span(w, r->written);
    takt_text_add(w->out, "_facts(");
    put_arguments(w, r, false);
    takt_text_add(w->out, ")\n");
}

static takt_status put_relation(writer *w, const takt_dlog_relation *r)
{
    bool is_first = true;
    if (r->arity == 0 || !r->has_facts) {
        if (r->has_facts || !r->has_rules)
            put_whole(w, r, r->has_facts ? "true" : "false");
        return TAKT_OK;
    }
    takt_text_add(w->out, "  relation ");
    put_span(w, r->written);
    takt_text_add(w->out, "%s(", r->has_rules ? "_facts" : "");
    put_types(w, r, "");
    takt_text_add(w->out, ") = ");
    if (r->input != NULL)
        takt_text_add(w->out, "\"%s\"", r->input);
    else
        takt_text_add(w->out, "[");
    for (const takt_dlog_clause *c = w->p->clauses; c != NULL; c = c->next) {
        if (c->body != NULL || c->head->relation != r)
            continue;
        if (r->input != NULL)
            return takt_dlog_refuse(w->p, c->head->line, "facts both here and in a file", r->name);
        TAKT_TRY(put_fact(w, c->head, is_first));
        is_first = false;
    }
    takt_text_add(w->out, "%s\n", r->input != NULL ? "" : "]");
    if (r->has_rules)
        put_whole(w, r, NULL);
    return TAKT_OK;
}

static void put_return(const writer *w)
{
    const char *before = "  return ";
    bool has_output = false;
    for (const takt_dlog_relation *r = w->p->relations; r != NULL; r = r->next)
        has_output = has_output || r->is_output || r->is_counted;
    for (const takt_dlog_relation *r = w->p->relations; r != NULL; r = r->next) {
        if (!r->is_counted || r->arity == 0)
            continue;
        takt_text_add(w->out, "  rule ");
        put_span(w, r->written);
        takt_text_add(w->out, "_size(n: i64) = n == count ");
        put_arguments(w, r, false);
        takt_text_add(w->out, ": ");
        put_span(w, r->written);
        takt_text_add(w->out, "(");
        put_arguments(w, r, false);
        takt_text_add(w->out, ")\n");
    }
    for (const takt_dlog_relation *r = w->p->relations; r != NULL; r = r->next)
        for (int size = 0; size < 2; size++) {
            if (!(size == 0 ? r->is_output || !has_output : r->is_counted && r->arity > 0))
                continue;
            takt_text_add(w->out, "%s", before);
            put_span(w, r->written);
            takt_text_add(w->out, "%s", size > 0 ? "_size" : "");
            before = ", ";
        }
    takt_text_add(w->out, "\n");
}

takt_status takt_dlog_write(takt_dlog_program *p, takt_dlog_file_fn *facts, void *user,
                            takt_text *out)
{
    writer *w = takt_arena_array(&p->arena, 1, sizeof *w);
    if (w == NULL)
        return TAKT_ERR_MEMORY;
    *w = (writer){.p = p, .out = out};
    if (p->relations == NULL)
        return takt_dlog_refuse(p, 1, "the text declares no relation", (takt_span){"", 0});
    TAKT_TRY(takt_dlog_check_names(p));
    TAKT_TRY(takt_dlog_symbols_of(p, facts, user, &w->all));
    put_domains(w);
    takt_text_add(out, "model program() {\n");
    for (const takt_dlog_relation *r = p->relations; r != NULL; r = r->next)
        TAKT_TRY(put_relation(w, r));
    for (const takt_dlog_clause *c = p->clauses; c != NULL; c = c->next)
        if (c->body != NULL)
            TAKT_TRY(put_rule(w, c));
    put_return(w);
    takt_text_add(out, "}\n");
    return out->status;
}

takt_status takt_dlog_translate(takt_ctx *ctx, const char *file, takt_span text,
                                takt_dlog_file_fn *facts, void *user, takt_text *out)
{
    takt_dlog_program p = {.ctx = ctx, .file = file};
    takt_arena_init(&p.arena, ctx);
    p.last_relation = &p.relations;
    p.last_clause = &p.clauses;
    takt_status status = takt_dlog_read(&p, text);
    if (status == TAKT_OK)
        status = takt_dlog_write(&p, facts, user, out);
    takt_arena_deinit(&p.arena);
    return status;
}
