/* rule_atom.c - predicates applied to arguments: parent(x, y), label[i].
 *
 * The logic supports only atoms of distinct variables and constants. Other arguments, such as
 * label[i] or a repeated x, become a new variable that is equal to them:
 *
 *     adds(i, label[i])    exists v: adds(i, v) and v == label[i] */
#include "lang/rule.h"

static takt_predicate *predicate(takt_convert_rule *c, const takt_ast *a, size_t given)
{
    takt_frame *f = c->f;
    char hint[TAKT_HINT_TEXT];
    takt_predicate *p = takt_rules_find(f, a->name);
    if (p == NULL && f->e->status == TAKT_OK) {
        const takt_value *v = takt_frame_find(f, a->name);
        takt_nearest near = takt_nearest_to(a->name->text);
        for (const takt_known *k = f->e->rules->known; k != NULL; k = k->next)
            takt_nearest_try(&near, k->name->text);
        if (v == NULL || v->kind != TAKT_V_POISON)
            takt_complain(f, a, TAKT_E_UNDEFINED, takt_nearest_hint(&near, hint),
                          "there is no relation, rule or tensor called %s here", a->name->text);
        return NULL;
    }
    if (p != NULL && (size_t)p->arity != given) {
        takt_complain(f, a, TAKT_E_ARITY, NULL, "%s has %d argument%s, not %zu", p->name, p->arity,
                      p->arity == 1 ? "" : "s", given);
        return NULL;
    }
    return p;
}

static size_t count_of(const takt_ast *list)
{
    size_t count = 0;
    for (; list != NULL; list = list->next)
        count++;
    return count;
}

static bool stands_before(const takt_formula *node, size_t index, int variable)
{
    for (size_t i = 0; i < index; i++)
        if (node->terms[i]->kind == TAKT_LOGIC_VARIABLE && node->terms[i]->variable == variable)
            return true;
    return false;
}

/* Arguments that are neither plain variables nor constants, with the terms they equal. */
typedef struct extra {
    int variable;
    takt_formula *term;
} extra;

/* The argument itself, or a new variable in its place. */
static takt_formula *argument(takt_convert_rule *c, const takt_formula *node, size_t index,
                              takt_formula *term, extra *more, size_t *count)
{
    const bool is_constant = term->kind == TAKT_LOGIC_INTEGER || term->kind == TAKT_LOGIC_NAMED;
    if (is_constant ||
        (term->kind == TAKT_LOGIC_VARIABLE && !stands_before(node, index, term->variable)))
        return term;
    takt_formula *v = takt_rule_node(c, TAKT_LOGIC_VARIABLE, term->place);
    const int variable = v != NULL ? takt_rule_variable(c, term->place, NULL) : -1;
    if (variable < 0)
        return NULL;
    v->variable = variable;
    more[(*count)++] = (extra){variable, term};
    return v;
}

static takt_formula *equal(takt_convert_rule *c, const takt_ast *at, takt_formula *a,
                           takt_formula *b)
{
    takt_formula *node = takt_rule_node(c, TAKT_LOGIC_COMPARE, at);
    if (node == NULL)
        return NULL;
    node->op = TAKT_LOGIC_EQ;
    node->a = a;
    node->b = b;
    return node;
}

/* exists v, ...: node and v == term and ... */
static takt_formula *with_extras(takt_convert_rule *c, const takt_ast *at, takt_formula *node,
                                 const extra *more, size_t count)
{
    takt_formula *all = takt_rule_node(c, TAKT_LOGIC_EXISTS, at);
    if (all == NULL)
        return NULL;
    all->bound = takt_arena_array(&c->f->e->arena, count, sizeof *all->bound);
    if (all->bound == NULL) {
        takt_out_of_memory(c->f);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        takt_formula *v = takt_rule_node(c, TAKT_LOGIC_VARIABLE, at);
        takt_formula *both = v != NULL ? takt_rule_node(c, TAKT_LOGIC_AND, at) : NULL;
        if (both == NULL)
            return NULL;
        v->variable = more[i].variable;
        all->bound[all->bound_count++] = more[i].variable;
        both->a = node;
        both->b = equal(c, at, v, more[i].term);
        if (both->b == NULL)
            return NULL;
        node = both;
    }
    all->a = node;
    return all;
}

static bool arguments(takt_convert_rule *c, const takt_ast *list, size_t count, takt_formula *node)
{
    node->terms = takt_arena_array(&c->f->e->arena, count, sizeof *node->terms);
    if (node->terms == NULL && count > 0)
        return takt_out_of_memory(c->f).b;
    for (const takt_ast *i = list; i != NULL && node->term_count < count; i = i->next) {
        if (i->kind == TAKT_A_ARGUMENT && i->name != NULL)
            return takt_complain(c->f, i, TAKT_E_RULE, NULL,
                                 "arguments of predicates have no names")
                .b;
        takt_formula *term = takt_rule_term(c, i->kind == TAKT_A_ARGUMENT ? i->a : i);
        if (term == NULL)
            return false;
        node->terms[node->term_count++] = term;
    }
    return true;
}

takt_formula *takt_rule_atom(takt_convert_rule *c, const takt_ast *a)
{
    const takt_ast *list = a->kind == TAKT_A_CALL ? a->a : NULL;
    const size_t count = count_of(list);
    takt_predicate *p = predicate(c, a, count);
    takt_formula *node = p != NULL ? takt_rule_node(c, TAKT_LOGIC_ATOM, a) : NULL;
    extra more[TAKT_MAX_RANK];
    size_t extras = 0;
    if (node == NULL || !arguments(c, list, count, node))
        return NULL;
    node->predicate = p;
    takt_formula *last = NULL;
    if (p->form == TAKT_FORM_VALUE) { /* size(x, n): n == size[x] */
        node->kind = TAKT_LOGIC_ELEMENT;
        last = node->terms[--node->term_count];
    }
    struct takt_scope *const scope = c->scope;
    for (size_t i = 0; i < node->term_count; i++)
        if ((node->terms[i] = argument(c, node, i, node->terms[i], more, &extras)) == NULL)
            return NULL;
    c->scope = scope;
    if (last != NULL && (node = equal(c, a, last, node)) == NULL)
        return NULL;
    return extras > 0 ? with_extras(c, a, node, more, extras) : node;
}

takt_formula *takt_rule_element(takt_convert_rule *c, const takt_ast *a)
{
    const takt_ast *name = a->kind == TAKT_A_INDEX ? a->a : a;
    const takt_ast *list = a->kind == TAKT_A_INDEX ? a->b : NULL;
    if (name->kind != TAKT_A_NAME) {
        takt_complain(c->f, name, TAKT_E_RULE, "give it a name before the rule",
                      "only a tensor with a name has elements in a rule");
        return NULL;
    }
    takt_predicate *p = takt_rules_find(c->f, name->name);
    const size_t hidden = p != NULL && p->form == TAKT_FORM_VALUE ? 1 : 0;
    p = predicate(c, name, count_of(list) + hidden);
    takt_formula *node = p != NULL ? takt_rule_node(c, TAKT_LOGIC_ELEMENT, a) : NULL;
    if (node == NULL || !arguments(c, list, count_of(list), node))
        return NULL;
    node->predicate = p;
    for (size_t i = 0; i < node->term_count; i++) {
        const takt_formula *t = node->terms[i];
        if (t->kind != TAKT_LOGIC_INTEGER && t->kind != TAKT_LOGIC_NAMED &&
            (t->kind != TAKT_LOGIC_VARIABLE || stands_before(node, i, t->variable))) {
            takt_complain(c->f, t->place, TAKT_E_RULE, NULL,
                          "indices in a rule are constants and different variables");
            return NULL;
        }
    }
    return node;
}
