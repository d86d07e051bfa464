/* syntax_rule.c - domains, relations, rules and constraints, and the quantifiers in them.
 *
 * None of their words is reserved: a statement begins with `rule` only if a name follows, which no
 * other statement allows, and quantifiers are recognised only in formulas. */
#include <string.h>

#include "lang/syntax.h"

/* domain person = "people.txt" */
void takt_syntax_domain(takt_syntax *s)
{
    takt_syntax_advance(s);
    takt_ast *name = takt_syntax_name(s, "the domain's name");
    takt_function *f = name != NULL ? takt_arena_array(s->arena, 1, sizeof *f) : NULL;
    if (name != NULL && f == NULL)
        s->status = TAKT_ERR_MEMORY;
    if (f != NULL && takt_syntax_expect(s, TAKT_T_ASSIGN, "after the domain's name") &&
        (f->body = takt_syntax_expression(s)) != NULL) {
        f->name = name->name;
        f->source = s->source;
        f->place = name;
        takt_function **end = &s->domains;
        while (*end != NULL)
            end = &(*end)->next;
        *end = f;
        return;
    }
    while (s->token.kind != TAKT_T_END && !s->token.starts_line)
        takt_syntax_advance(s);
}

/* x, or x: person */
static takt_ast *variable(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_ARGUMENT, &s->token);
    takt_ast *name = node != NULL ? takt_syntax_name(s, "a variable") : NULL;
    if (name == NULL)
        return NULL;
    node->name = name->name;
    node->is_quoted = name->is_quoted;
    if (takt_syntax_take(s, TAKT_T_COLON) && (node->a = takt_syntax_name(s, "a domain")) == NULL)
        return NULL;
    return takt_syntax_close(s, node);
}

static takt_ast *domain(takt_syntax *s)
{
    return takt_syntax_name(s, "a domain");
}

/* `dense` or `sparse`, which are separate words: no option has such a name. */
static takt_ast *form(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_ARGUMENT, &s->token);
    if (node == NULL)
        return NULL;
    node->name = s->token.name;
    takt_syntax_advance(s);
    return takt_syntax_close(s, node);
}

/* weight=0.5 semantics=godel sparse */
static bool options(takt_syntax *s, takt_ast **list)
{
    while (s->token.kind == TAKT_T_NAME && !s->token.starts_line) {
        const bool is_form =
            !s->token.is_quoted && (takt_syntax_is(s, "dense") || takt_syntax_is(s, "sparse"));
        if (!is_form && takt_syntax_peek(s)->kind != TAKT_T_ASSIGN)
            return true;
        *list = is_form ? form(s) : takt_syntax_named(s);
        if (*list == NULL)
            return false;
        list = &(*list)->next;
    }
    return true;
}

static takt_ast *formula(takt_syntax *s)
{
    const bool before = s->is_formula;
    s->is_formula = true;
    takt_ast *node = takt_syntax_expression(s);
    s->is_formula = before;
    return node;
}

takt_ast *takt_syntax_rule(takt_syntax *s)
{
    const bool is_relation = takt_syntax_is(s, "relation"), is_rule = takt_syntax_is(s, "rule");
    takt_ast *node = takt_syntax_node(s,
                                      is_relation ? TAKT_A_RELATION
                                      : is_rule   ? TAKT_A_RULE
                                                  : TAKT_A_CONSTRAINT,
                                      &s->token);
    takt_syntax_advance(s);
    takt_ast *name = node != NULL ? takt_syntax_name(s, "its name") : NULL;
    if (name == NULL)
        return NULL;
    node->name = name->name;
    node->is_quoted = name->is_quoted;
    if (is_relation || is_rule) {
        if (!takt_syntax_expect(s, TAKT_T_OPEN,
                                is_rule ? "before the variables" : "before the domains") ||
            !takt_syntax_items(s, is_rule ? variable : domain, TAKT_T_CLOSE, &node->a))
            return NULL;
    }
    takt_syntax_close(s, node);
    if (!options(s, &node->c))
        return NULL;
    if (is_relation && (s->token.kind != TAKT_T_ASSIGN || s->token.starts_line))
        return node; /* an input of the model */
    if (!takt_syntax_expect(s, TAKT_T_ASSIGN, is_relation ? "before its facts" : "before the rule"))
        return NULL;
    node->b = is_relation ? takt_syntax_expression(s) : formula(s);
    return node->b != NULL ? node : NULL;
}

/* ---- quantifiers ---- */

bool takt_syntax_is_quantifier(takt_syntax *s)
{
    static const char *const words[] = {"exists", "forall", "at_least", "count",  "sum",
                                        "min",    "max",    "mean",     "product"};
    if (!s->is_formula || s->token.kind != TAKT_T_NAME || s->token.is_quoted)
        return false;
    const takt_token *next = takt_syntax_peek(s);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i], s->token.name->text) == 0)
            return (next->kind == TAKT_T_NAME && !next->starts_line) ||
                   (i < 3 && next->kind == TAKT_T_OPEN);
    return false;
}

/* x, y in person */
static bool variables(takt_syntax *s, takt_ast **list)
{
    do {
        takt_ast *node = takt_syntax_node(s, TAKT_A_ARGUMENT, &s->token);
        takt_ast *name = node != NULL ? takt_syntax_name(s, "a variable") : NULL;
        if (name == NULL)
            return false;
        node->name = name->name;
        node->is_quoted = name->is_quoted;
        if (takt_syntax_is(s, "in")) {
            takt_syntax_advance(s);
            if ((node->a = takt_syntax_name(s, "a domain")) == NULL)
                return false;
        }
        *list = takt_syntax_close(s, node);
        list = &node->next;
    } while (takt_syntax_take(s, TAKT_T_COMMA));
    return true;
}

takt_ast *takt_syntax_quantifier(takt_syntax *s)
{
    takt_ast *node = takt_syntax_node(s, TAKT_A_QUANTIFIER, &s->token);
    takt_ast *list = node != NULL ? takt_syntax_node(s, TAKT_A_LIST, &s->token) : NULL;
    if (list == NULL)
        return NULL;
    node->name = s->token.name;
    node->a = list;
    takt_syntax_advance(s);
    if (takt_syntax_take(s, TAKT_T_OPEN) &&
        !takt_syntax_items(s, takt_syntax_named, TAKT_T_CLOSE, &list->b))
        return NULL;
    if (!variables(s, &list->a))
        return NULL;
    takt_syntax_close(s, node);
    if (takt_syntax_is(s, "where")) {
        takt_syntax_advance(s);
        if ((node->c = takt_syntax_expression(s)) == NULL)
            return NULL;
    }
    if (!takt_syntax_expect(s, TAKT_T_COLON, "after the variables") ||
        (node->b = takt_syntax_expression(s)) == NULL)
        return NULL;
    return node;
}
