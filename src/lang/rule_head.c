/* rule_head.c - one rule: its head and options, then its body. */
#include <string.h>

#include "lang/rule.h"

/* ---- heads ---- */

/* The words `dense` and `sparse`; rules of one name agree. */
static bool state_form(takt_frame *f, const takt_ast *o, takt_predicate *p)
{
    const takt_stated_form form = takt_rules_stated(o);
    if (p->stated != TAKT_STATED_NONE && p->stated != form) {
        takt_complain(f, o, TAKT_E_RULE, "one of the two words is enough",
                      "%s cannot be dense and sparse", p->name);
        return false;
    }
    p->stated = form;
    return true;
}

static bool option(takt_frame *f, const takt_ast *o, takt_predicate *p, takt_rule *rule)
{
    if (o->a == NULL)
        return state_form(f, o, p);
    const takt_value v = takt_eval_word(f, o->a);
    const takt_span name = {o->name->text, o->name->length};
    if (v.kind == TAKT_V_POISON)
        return false;
    if (takt_span_is(name, "semantics")) {
        const takt_semantics *s = takt_rules_semantics(f, o, &v);
        if (s != NULL && p->rules != NULL && p->semantics != s) {
            takt_complain(f, o, TAKT_E_SEMANTICS, NULL, "%s has rules of %s semantics already",
                          p->name, p->semantics->name);
            return false;
        }
        p->semantics = s;
        return s != NULL;
    }
    if (takt_span_is(name, "weight") && takt_value_is_number(&v)) {
        rule->weight = rule->loss_weight = takt_value_double(&v);
        rule->has_weight = ((const takt_ast *)rule->place)->kind == TAKT_A_RULE;
        return rule->weight >= 0 ||
               takt_complain(f, o, TAKT_E_RULE, NULL, "a weight is not negative").b;
    }
    if (takt_span_is(name, "rounds") && v.kind == TAKT_V_INT && v.i > 0) {
        p->rounds = v.i;
        return true;
    }
    if (takt_span_is(name, "capacity"))
        return takt_rules_capacity(f, o, &v, &p->capacity);
    takt_complain(f, o, TAKT_E_RULE,
                  "semantics=product, weight=0.5, rounds=10, capacity=1000, dense and sparse stand "
                  "before the =",
                  "a rule has no option like %s", o->name->text);
    return false;
}

static size_t count_of(const takt_ast *list)
{
    size_t count = 0;
    for (; list != NULL; list = list->next)
        count++;
    return count;
}

/* The last argument `n: i32` makes the relation a function of the others. */
static bool is_number(const takt_ast *p)
{
    return p->a != NULL && !p->a->is_quoted &&
           (strcmp(p->a->name->text, "i32") == 0 || strcmp(p->a->name->text, "i64") == 0 ||
            strcmp(p->a->name->text, "f32") == 0);
}

static bool head_arguments(takt_frame *f, const takt_ast *a, takt_predicate *p)
{
    int i = 0;
    for (const takt_ast *v = a->a; v != NULL; v = v->next, i++) {
        if (v->a == NULL)
            continue;
        if (is_number(v) && v->next == NULL) {
            p->form = TAKT_FORM_VALUE;
            continue;
        }
        const takt_domain *d = takt_rules_domain(f, v->a);
        if (d == NULL)
            return false;
        const takt_var_range range = {true, d, d->size};
        if (p->arg[i].is_known && p->arg[i].domain != d) {
            takt_complain(f, v, TAKT_E_DOMAIN, NULL, "argument %d of %s is of %s in another rule",
                          i + 1, p->name, p->arg[i].domain->name);
            return false;
        }
        p->arg[i] = range;
    }
    return true;
}

/* The predicate of a head: new, or that of an earlier rule of the same name in this group. */
static takt_predicate *head_of(takt_frame *f, const takt_ast *a)
{
    takt_predicate *p = takt_rules_find(f, a->name);
    const size_t arity = count_of(a->a);
    if (arity > TAKT_MAX_RANK) {
        takt_complain(f, a, TAKT_E_RANK, NULL, "a relation has at most %d arguments",
                      TAKT_MAX_RANK);
        return NULL;
    }
    if (p != NULL && p->rules != NULL && p->value == TAKT_NONE) {
        if (p->arity == (int)arity && p->form != TAKT_FORM_VALUE)
            return p;
        takt_complain(f, a, TAKT_E_ARITY, NULL,
                      p->form == TAKT_FORM_VALUE ? "%s is a number, so it has one rule"
                                                 : "%s has another number of arguments above",
                      p->name);
        return NULL;
    }
    p = takt_rules_add(f, a->name, a);
    if (p == NULL)
        return NULL;
    p->arity = (int)arity;
    p->semantics = f->e->rules->semantics;
    return p;
}

/* ---- bodies ---- */

/* Tuples are present or absent: only Boolean relations with arguments can be given a form. */
static bool check_form(takt_frame *f, const takt_ast *a, const takt_predicate *p)
{
    if (p->stated == TAKT_STATED_NONE)
        return true;
    if (p->stated == TAKT_STATED_DENSE && p->capacity > 0) {
        takt_complain(f, a, TAKT_E_RULE,
                      "leave out dense, or capacity=", "%s is dense, and a capacity is of tuples",
                      p->name);
        return false;
    }
    if (p->semantics->dtype == TAKT_BOOL && p->form != TAKT_FORM_VALUE && p->arity > 0)
        return true;
    takt_complain(f, a, TAKT_E_RULE, NULL,
                  "dense and sparse are for Boolean relations with arguments, and %s is %s",
                  p->name,
                  p->form == TAKT_FORM_VALUE         ? "a number"
                  : p->semantics->dtype != TAKT_BOOL ? p->semantics->name
                                                     : "a single truth value");
    return false;
}

takt_rule *takt_rule_begin(takt_frame *f, const takt_ast *a)
{
    takt_predicate *p = head_of(f, a);
    takt_rule *rule = p != NULL ? takt_arena_array(&f->e->arena, 1, sizeof *rule) : NULL;
    if (rule == NULL) {
        if (p != NULL)
            takt_out_of_memory(f);
        return NULL;
    }
    *rule = (takt_rule){.head = p, .place = a, .loss_weight = 1, .line = (int)a->line};
    for (const takt_ast *o = a->c; o != NULL; o = o->next)
        if (!option(f, o, p, rule))
            return NULL;
    if (!head_arguments(f, a, p) || !check_form(f, a, p))
        return NULL;
    takt_rule **end = &p->rules;
    while (*end != NULL)
        end = &(*end)->next;
    *end = rule;
    if (rule->has_weight &&
        (p->semantics->dtype != TAKT_F32 || (p->semantics->is_truth && rule->weight > 1))) {
        takt_complain(f, a, TAKT_E_SEMANTICS, "weights are for soft rules, and lie within 0 to 1",
                      "rules of %s semantics have no weight like %g", p->semantics->name,
                      rule->weight);
        return NULL;
    }
    return rule;
}

/* n == term, as the body of a rule whose last argument n is a number. */
static bool is_equation(const takt_rule *rule)
{
    const int last = rule->head->arity - 1;
    const takt_formula *b = rule->body;
    if (b->kind != TAKT_LOGIC_COMPARE || b->op != TAKT_LOGIC_EQ)
        return false;
    return (b->a->kind == TAKT_LOGIC_VARIABLE && b->a->variable == last) ||
           (b->b->kind == TAKT_LOGIC_VARIABLE && b->b->variable == last);
}

bool takt_rule_finish(takt_frame *f, const takt_ast *a, takt_rule *rule)
{
    takt_convert_rule c = {.f = f, .rule = rule};
    takt_predicate *p = rule->head;
    int i = 0;
    for (const takt_ast *v = a->a; v != NULL; v = v->next, i++) {
        if (takt_rule_find(&c, v->name) >= 0) {
            takt_complain(f, v, TAKT_E_RULE, "use two variables and compare them: x == y",
                          "%s stands twice in the head", v->name->text);
            return false;
        }
        if (takt_rule_variable(&c, v, v->name) < 0)
            return false;
    }
    rule->body = takt_rule_formula(&c, a->b);
    if (rule->body == NULL)
        return false;
    if (p->form == TAKT_FORM_VALUE && !is_equation(rule)) {
        takt_complain(f, a, TAKT_E_RULE, "as in rule size(x, n: i32) = n == count y: in(x, y)",
                      "a rule whose last argument is a number is an equation for it");
        return false;
    }
    if (p->form != TAKT_FORM_VALUE)
        p->form = p->semantics->dtype != TAKT_BOOL ? TAKT_FORM_SOFT
                  : p->arity > 0                   ? TAKT_FORM_BITS
                                                   : TAKT_FORM_BOOL;
    return true;
}
