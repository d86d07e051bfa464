/* rulegen.c - random stratified programs of rules, as trees and as texts. */
#include "util/rulegen.h"

#include <stdarg.h>
#include <stdio.h>

int rulegen_below(program *p, int limit)
{
    return (int)takt_random_below(&p->random, (size_t)limit);
}

/* ---- making a program ---- */

static int add(program *p, node n)
{
    p->nodes[p->count] = n;
    return p->count++;
}

/* A variable in scope of that domain; -1 if there is none. */
static int variable(program *p, int domain)
{
    for (int tries = 0; tries < 8 && p->var_count > 0; tries++) {
        const int v = rulegen_below(p, p->var_count);
        if (p->var_domain[v] == domain)
            return v;
    }
    return -1;
}

/* Atoms of predicates below `limit`, which is where the rule itself begins to be seen. */
static int atom(program *p, int limit)
{
    for (int tries = 0; tries < 20; tries++) {
        node n = {.kind = ATOM, .predicate = rulegen_below(p, limit)};
        const predicate *of = &p->p[n.predicate];
        bool good = true;
        for (int i = 0; i < of->arity; i++) {
            n.arg[i] = variable(p, of->domain[i]);
            if (i == of->arity - 1 && (n.arg[i] < 0 || rulegen_below(p, 8) == 0)) {
                n.is_constant = true;
                n.number = rulegen_below(p, p->size[of->domain[i]]);
            }
            good = good && (n.arg[i] >= 0 || (n.is_constant && i == of->arity - 1));
        }
        if (good)
            return add(p, n);
    }
    return add(
        p,
        (node){.kind = COMPARE, .arg = {-1, -1}, .number = rulegen_below(p, 2)}); /* a constant */
}

static int formula(program *p, int depth, int plain, int limit);

static int quantified(program *p, int depth, int plain, int limit)
{
    static const kind kinds[] = {EXISTS, EXISTS, EXISTS, FORALL, AT_LEAST, COUNTED};
    const bool is_plain_only = plain != limit; /* recursion may be seen: nothing that turns */
    node n = {.kind = kinds[rulegen_below(p, is_plain_only ? 3 : 6)],
              .number = 1 + rulegen_below(p, 3)};
    n.domain = rulegen_below(p, 2);
    n.var = p->var_count;
    p->var_domain[p->var_count++] = n.domain;
    n.a = formula(p, depth - 1, plain, limit);
    p->var_count--;
    return add(p, n);
}

/* `limit`: predicates that may occur anywhere; `plain`: those that may occur where nothing is
 * negated.
 */
static int formula(program *p, int depth, int plain, int limit)
{
    const int choice = depth <= 0 || p->count > NODES - 64 ? 0 : rulegen_below(p, 12);
    node n = {.kind = AND};
    if (choice <= 2)
        return atom(p, plain);
    if (choice == 3) {
        const int domain = rulegen_below(p, 2);
        n = (node){.kind = COMPARE,
                   .arg = {variable(p, domain), variable(p, domain)},
                   .number = rulegen_below(p, 6)};
        if (n.arg[0] < 0 || n.arg[1] < 0)
            return atom(p, plain);
        return add(p, n);
    }
    if (choice <= 6 && p->var_count < VARS - 1)
        return quantified(p, depth, plain, limit);
    if (choice <= 8 || choice == 9) {
        n.kind = choice == 9 ? OR : AND;
        n.a = formula(p, depth - 1, plain, limit);
        n.b = formula(p, depth - 1, plain, limit);
        return add(p, n);
    }
    n.kind = choice == 10 ? NOT : rulegen_below(p, 2) == 0 ? IMPLIES : IFF;
    n.a = formula(p, depth - 1, limit, limit);
    if (n.kind != NOT)
        n.b = formula(p, depth - 1, limit, limit);
    return add(p, n);
}

void rulegen_make(program *p, uint64_t seed)
{
    *p = (program){.random = {.state = seed * 7919 + 1}};
    for (int i = 0; i < 2; i++)
        p->size[i] = rulegen_below(p, 12) == 0 ? 63 + rulegen_below(p, 4) : 1 + rulegen_below(p, 5);
    p->is_input = rulegen_below(p, 2) == 0;
    int group = 0;
    for (int i = 0; i < PREDICATES; i++) {
        p->p[i].arity = i < FACTS ? 1 + rulegen_below(p, 2) : rulegen_below(p, 3);
        for (int k = 0; k < ARITY; k++)
            p->p[i].domain[k] = rulegen_below(p, 2);
        group += i < FACTS || rulegen_below(p, 3) > 0;
        p->p[i].group = group;
    }
    for (int i = FACTS; i < PREDICATES; i++) {
        int first = i, last = i;
        while (first > FACTS && p->p[first - 1].group == p->p[i].group)
            first--;
        while (last + 1 < PREDICATES && p->p[last + 1].group == p->p[i].group)
            last++;
        const bool is_large = p->size[0] > 10 || p->size[1] > 10;
        p->var_count = p->p[i].arity;
        for (int k = 0; k < p->p[i].arity; k++)
            p->var_domain[k] = p->p[i].domain[k];
        p->p[i].body = formula(p, is_large ? 2 : 4, last + 1, first);
    }
}

/* ---- as text ---- */

static void put(program *p, const char *format, ...) TAKT_PRINTF(2, 3);
static void put(program *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(p->text + p->length, TEXT - p->length, format, args);
    va_end(args);
    p->length += n > 0 && (size_t)n < TEXT - p->length ? (size_t)n : 0;
}

static void write(program *p, int at)
{
    static const char *const infix[] = {
        [AND] = "and", [OR] = "or", [IMPLIES] = "implies", [IFF] = "iff"};
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">="};
    const node *n = &p->nodes[at];
    if (n->kind == ATOM) {
        const predicate *of = &p->p[n->predicate];
        put(p, "p%d%s", n->predicate, of->arity > 0 ? "(" : "()");
        for (int i = 0; i < of->arity; i++) {
            put(p, "%s", i > 0 ? ", " : "");
            if (n->is_constant && i == of->arity - 1)
                put(p, "%d", n->number);
            else
                put(p, "v%d", n->arg[i]);
        }
        put(p, "%s", of->arity > 0 ? ")" : "");
    } else if (n->kind == COMPARE && n->arg[0] < 0) {
        put(p, "%s", n->number != 0 ? "true" : "false");
    } else if (n->kind == COMPARE) {
        put(p, "v%d %s v%d", n->arg[0], signs[n->number], n->arg[1]);
    } else if (n->kind == NOT) {
        put(p, "not (");
        write(p, n->a);
        put(p, ")");
    } else if (n->kind >= EXISTS) {
        if (n->kind == AT_LEAST)
            put(p, "(at_least(%d) ", n->number);
        else if (n->kind == COUNTED)
            put(p, "(%d <= count ", n->number);
        else
            put(p, "(%s ", n->kind == EXISTS ? "exists" : "forall");
        put(p, "v%d in d%d: ", n->var, n->domain);
        write(p, n->a);
        put(p, ")");
    } else {
        put(p, "(");
        write(p, n->a);
        put(p, " %s ", infix[n->kind]);
        write(p, n->b);
        put(p, ")");
    }
}

void rulegen_write(program *p)
{
    put(p, "domain d0 = %d\ndomain d1 = %d\nmodel m() {\n", p->size[0], p->size[1]);
    for (int i = 0; i < FACTS; i++) {
        put(p, "  relation p%d(", i);
        for (int k = 0; k < p->p[i].arity; k++)
            put(p, "%sd%d", k > 0 ? ", " : "", p->p[i].domain[k]);
        put(p, ")");
        size_t count = 1, facts = 0;
        for (int k = 0; k < p->p[i].arity; k++)
            count *= (size_t)p->size[p->p[i].domain[k]];
        for (size_t t = 0; !p->is_input && t < count; t++) {
            if (p->p[i].now[t] == 0)
                continue;
            put(p, facts++ == 0 ? " = [" : ", ");
            const int last = p->size[p->p[i].domain[p->p[i].arity - 1]];
            if (p->p[i].arity == 1)
                put(p, "[%zu]", t);
            else
                put(p, "[%zu, %zu]", t / (size_t)last, t % (size_t)last);
        }
        put(p, "%s\n", p->is_input ? "" : facts == 0 ? " = []" : "]");
    }
    for (int i = FACTS; i < PREDICATES; i++) {
        put(p, "  rule p%d(", i);
        for (int k = 0; k < p->p[i].arity; k++)
            put(p, "%sv%d: d%d", k > 0 ? ", " : "", k, p->p[i].domain[k]);
        put(p, ") = ");
        write(p, p->p[i].body);
        put(p, "\n");
    }
    put(p, "  return ");
    for (int i = FACTS; i < PREDICATES; i++)
        put(p, "%sp%d", i > FACTS ? ", " : "", i);
    put(p, "\n}\n");
}
