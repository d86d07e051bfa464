/* rule_formula.c - the expression of a rule as a formula: connectives, quantifiers, terms. */
#include <string.h>

#include "lang/rule.h"

enum { MOST_BOUND = 32, MOST_VARIABLES = 256, MOST_CHAIN = 4096 };

typedef struct takt_scope {
    const takt_symbol *name;
    int variable;
    struct takt_scope *outer;
} takt_scope;

static takt_formula *wrong(takt_convert_rule *c, const takt_ast *at, const char *hint,
                           const char *what)
{
    takt_complain(c->f, at, TAKT_E_RULE, hint, "%s", what);
    return NULL;
}

takt_formula *takt_rule_node(takt_convert_rule *c, takt_formula_kind kind, const takt_ast *at)
{
    takt_formula *node = takt_arena_array(&c->f->e->arena, 1, sizeof *node);
    if (node == NULL) {
        takt_out_of_memory(c->f);
        return NULL;
    }
    node->kind = (uint8_t)kind;
    node->place = at;
    return node;
}

/* ---- variables ---- */

int takt_rule_find(const takt_convert_rule *c, const takt_symbol *name)
{
    for (const takt_scope *s = c->scope; s != NULL; s = s->outer)
        if (s->name == name)
            return s->variable;
    return -1;
}

int takt_rule_variable(takt_convert_rule *c, const takt_ast *at, const takt_symbol *name)
{
    takt_rule *r = c->rule;
    takt_arena *arena = &c->f->e->arena;
    takt_scope *scope = takt_arena_array(arena, 1, sizeof *scope);
    if (r->variable_count == c->variable_capacity) {
        const size_t wanted = c->variable_capacity > 0 ? 2 * c->variable_capacity : 8;
        takt_variable *all = takt_arena_array(arena, wanted, sizeof *all);
        if (all != NULL && r->variable_count > 0)
            memcpy(all, r->variables, r->variable_count * sizeof *all);
        r->variables = all;
        c->variable_capacity = all != NULL ? wanted : 0;
    }
    if (scope == NULL || r->variables == NULL) {
        takt_out_of_memory(c->f);
        return -1;
    }
    if (r->variable_count == MOST_VARIABLES) {
        takt_complain(c->f, at, TAKT_E_RULE, NULL, "a rule has more than %d variables",
                      MOST_VARIABLES);
        return -1;
    }
    const int index = (int)r->variable_count++;
    r->variables[index] = (takt_variable){.name = name != NULL ? name->text : "_", .place = at};
    *scope = (takt_scope){name, index, c->scope};
    c->scope = scope;
    return index;
}

/* ---- connectives ---- */

static takt_formula *pair(takt_convert_rule *c, takt_formula_kind kind, const takt_ast *at,
                          takt_formula *a, takt_formula *b)
{
    takt_formula *node = a != NULL && b != NULL ? takt_rule_node(c, kind, at) : NULL;
    if (node != NULL) {
        node->a = a;
        node->b = b;
    }
    return node;
}

/* a and b and c ...: as a balanced tree, so that its depth does not grow with the text. */
static takt_formula *balanced(takt_convert_rule *c, const takt_ast *at, takt_formula **parts,
                              size_t count)
{
    const takt_formula_kind kind = at->token == TAKT_INFIX_AND ? TAKT_LOGIC_AND : TAKT_LOGIC_OR;
    for (; count > 1; count = (count + 1) / 2)
        for (size_t i = 0; i < count; i += 2) {
            parts[i / 2] = i + 1 < count ? pair(c, kind, at, parts[i], parts[i + 1]) : parts[i];
            if (parts[i / 2] == NULL)
                return NULL;
        }
    return parts[0];
}

static takt_formula *chain(takt_convert_rule *c, const takt_ast *a)
{
    size_t count = 1;
    for (const takt_ast *p = a; p->kind == TAKT_A_BINARY && p->token == a->token; p = p->a)
        count++;
    if (count > MOST_CHAIN)
        return wrong(c, a, "split it into several rules", "a formula has more than 4096 parts");
    takt_formula **parts = takt_arena_array(&c->f->e->arena, count, sizeof *parts);
    if (parts == NULL) {
        takt_out_of_memory(c->f);
        return NULL;
    }
    size_t at = count;
    const takt_ast *p = a;
    for (; p->kind == TAKT_A_BINARY && p->token == a->token; p = p->a)
        if ((parts[--at] = takt_rule_formula(c, p->b)) == NULL)
            return NULL;
    if ((parts[0] = takt_rule_formula(c, p)) == NULL)
        return NULL;
    return balanced(c, a, parts, count);
}

static takt_formula *compare(takt_convert_rule *c, const takt_ast *a)
{
    takt_formula *left = takt_rule_term(c, a->a);
    takt_formula *right = left != NULL ? takt_rule_term(c, a->b) : NULL;
    takt_formula *node = pair(c, TAKT_LOGIC_COMPARE, a, left, right);
    if (node != NULL)
        node->op = (uint8_t)(TAKT_LOGIC_EQ + (a->token - TAKT_T_EQ));
    return node;
}

static takt_formula *binary(takt_convert_rule *c, const takt_ast *a)
{
    if (a->token == TAKT_INFIX_AND || a->token == TAKT_INFIX_OR)
        return chain(c, a);
    if (a->token >= TAKT_T_EQ && a->token <= TAKT_T_GE)
        return compare(c, a);
    if (a->token != TAKT_INFIX_IMPLIES && a->token != TAKT_INFIX_IFF)
        return wrong(c, a, "compare it with something",
                     "a truth value is wanted here, not a number");
    takt_formula *left = takt_rule_formula(c, a->a);
    return pair(c, a->token == TAKT_INFIX_IFF ? TAKT_LOGIC_IFF : TAKT_LOGIC_IMPLIES, a, left,
                left != NULL ? takt_rule_formula(c, a->b) : NULL);
}

static takt_formula *choice(takt_convert_rule *c, const takt_ast *a, bool is_term)
{
    takt_formula *node = takt_rule_node(c, TAKT_LOGIC_CHOICE, a);
    if (node == NULL || (node->b = takt_rule_formula(c, a->b)) == NULL)
        return NULL;
    node->a = is_term ? takt_rule_term(c, a->a) : takt_rule_formula(c, a->a);
    node->c = is_term ? takt_rule_term(c, a->c) : takt_rule_formula(c, a->c);
    return node->a != NULL && node->c != NULL ? node : NULL;
}

/* ---- quantifiers and folds ---- */

static bool bind_variables(takt_convert_rule *c, const takt_ast *list, takt_formula *node)
{
    size_t count = 0;
    for (const takt_ast *v = list; v != NULL; v = v->next)
        count++;
    if (count > MOST_BOUND)
        return wrong(c, list, NULL, "a quantifier has more than 32 variables") != NULL;
    node->bound = takt_arena_array(&c->f->e->arena, count, sizeof *node->bound);
    if (node->bound == NULL)
        return takt_out_of_memory(c->f).b;
    for (const takt_ast *v = list; v != NULL; v = v->next) {
        const int index = takt_rule_variable(c, v, v->name);
        const takt_domain *d = v->a != NULL && index >= 0 ? takt_rules_domain(c->f, v->a) : NULL;
        if (index < 0 || (v->a != NULL && d == NULL))
            return false;
        if (d != NULL)
            c->rule->variables[index].range = (takt_var_range){true, d, d->size};
        node->bound[node->bound_count++] = index;
    }
    return true;
}

/* exists(p=2), forall(p=q), at_least(3) */
static bool quantifier_option(takt_convert_rule *c, const takt_ast *o, takt_formula *node)
{
    const takt_value v = takt_eval_expr(c->f, o->a);
    const bool is_power = o->name != NULL && strcmp(o->name->text, "p") == 0;
    if (v.kind == TAKT_V_POISON)
        return false;
    if (node->kind == TAKT_LOGIC_AT_LEAST && o->name == NULL && v.kind == TAKT_V_INT && v.i > 0) {
        node->integer = v.i;
        return true;
    }
    if (node->kind == TAKT_LOGIC_AT_LEAST || !is_power)
        return wrong(c, o, "exists(p=2) x: ..., forall(p=2) x: ..., at_least(3) x: ...",
                     "this quantifier has no such option") != NULL;
    node->has_power = true;
    if (takt_value_is_number(&v) && takt_value_double(&v) > 0) {
        node->number = takt_value_double(&v);
        return true;
    }
    if (v.kind == TAKT_V_TENSOR && o->a->kind == TAKT_A_NAME &&
        takt_type_of(c->f->graph, v.id)->rank == 0 &&
        takt_type_of(c->f->graph, v.id)->dtype == TAKT_F32)
        node->power = takt_rules_find(c->f, o->a->name);
    if (node->power == NULL && c->f->e->status == TAKT_OK)
        wrong(c, o, NULL, "p is a number above 0, or the name of an f32 scalar");
    return node->power != NULL;
}

static bool kind_of(const char *word, takt_formula *node)
{
    static const struct {
        const char *word;
        takt_formula_kind kind;
        takt_logic_op op;
    } kinds[] = {{"exists", TAKT_LOGIC_EXISTS, 0},
                 {"forall", TAKT_LOGIC_FORALL, 0},
                 {"at_least", TAKT_LOGIC_AT_LEAST, 0},
                 {"count", TAKT_LOGIC_FOLD, TAKT_LOGIC_COUNT},
                 {"sum", TAKT_LOGIC_FOLD, TAKT_LOGIC_SUM},
                 {"min", TAKT_LOGIC_FOLD, TAKT_LOGIC_MIN},
                 {"max", TAKT_LOGIC_FOLD, TAKT_LOGIC_MAX},
                 {"mean", TAKT_LOGIC_FOLD, TAKT_LOGIC_MEAN},
                 {"product", TAKT_LOGIC_FOLD, TAKT_LOGIC_PRODUCT}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].word, word) == 0) {
            node->kind = (uint8_t)kinds[i].kind;
            node->op = (uint8_t)kinds[i].op;
            return true;
        }
    return false;
}

static takt_formula *quantifier(takt_convert_rule *c, const takt_ast *a, bool is_term)
{
    takt_formula *node = takt_rule_node(c, TAKT_LOGIC_EXISTS, a);
    takt_scope *outer = c->scope;
    if (node == NULL || !kind_of(a->name->text, node))
        return NULL;
    if (is_term != (node->kind == TAKT_LOGIC_FOLD))
        return wrong(c, a, is_term ? NULL : "compare it: 3 <= count x: ...",
                     is_term ? "a number is wanted here, not a truth value"
                             : "a truth value is wanted here, not a number");
    for (const takt_ast *o = a->a->b; o != NULL; o = o->next)
        if (!quantifier_option(c, o, node))
            return NULL;
    if (node->kind == TAKT_LOGIC_AT_LEAST && node->integer == 0)
        return wrong(c, a, "at_least(3) x: ...", "at_least needs a number");
    if (!bind_variables(c, a->a->a, node))
        return NULL;
    const bool takes_term = node->kind == TAKT_LOGIC_FOLD && node->op != TAKT_LOGIC_COUNT;
    if (a->c != NULL && (node->b = takt_rule_formula(c, a->c)) == NULL)
        return NULL;
    node->a = takes_term ? takt_rule_term(c, a->b) : takt_rule_formula(c, a->b);
    c->scope = outer;
    return node->a != NULL ? node : NULL;
}

/* ---- formulas ---- */

static takt_formula *truth(takt_convert_rule *c, const takt_ast *a, double value)
{
    takt_formula *node = takt_rule_node(c, TAKT_LOGIC_TRUTH, a);
    if (!(value >= 0 && value <= 1))
        return wrong(c, a, NULL, "a truth value lies between 0 and 1");
    if (node != NULL)
        node->number = value;
    return node;
}

static takt_formula *named(takt_convert_rule *c, const takt_ast *a)
{
    const bool is_true = strcmp(a->name->text, "true") == 0;
    if (!a->is_quoted && (is_true || strcmp(a->name->text, "false") == 0))
        return truth(c, a, is_true);
    if (takt_rule_find(c, a->name) >= 0)
        return wrong(c, a, "compare it, as in x == y",
                     "a truth value is wanted here, not a variable");
    return takt_rule_atom(c, a);
}

static takt_formula *by_kind(takt_convert_rule *c, const takt_ast *a)
{
    takt_formula *node;
    switch ((takt_ast_kind)a->kind) {
    case TAKT_A_NAME: return named(c, a);
    case TAKT_A_INTEGER: return truth(c, a, (double)a->integer);
    case TAKT_A_DECIMAL: return truth(c, a, a->number);
    case TAKT_A_CALL: return takt_rule_atom(c, a);
    case TAKT_A_BINARY: return binary(c, a);
    case TAKT_A_EITHER: return choice(c, a, false);
    case TAKT_A_QUANTIFIER: return quantifier(c, a, false);
    case TAKT_A_NOT:
        node = takt_rule_node(c, TAKT_LOGIC_NOT, a);
        if (node != NULL)
            node->a = takt_rule_formula(c, a->a);
        return node != NULL && node->a != NULL ? node : NULL;
    default: return wrong(c, a, NULL, "this is not a formula");
    }
}

/* Formulas nest no deeper than the parser allows. */
takt_formula *takt_rule_formula(takt_convert_rule *c, const takt_ast *a)
{
    return c->f->e->status == TAKT_OK ? by_kind(c, a) : NULL;
}

/* ---- terms ---- */

static takt_formula *integer(takt_convert_rule *c, const takt_ast *a, int64_t value)
{
    takt_formula *node = takt_rule_node(c, TAKT_LOGIC_INTEGER, a);
    if (node != NULL)
        node->integer = value;
    return node;
}

static takt_formula *arithmetic(takt_convert_rule *c, const takt_ast *a)
{
    static const struct {
        uint8_t token, op;
    } ops[] = {{TAKT_T_PLUS, TAKT_LOGIC_ADD},
               {TAKT_T_MINUS, TAKT_LOGIC_SUB},
               {TAKT_T_STAR, TAKT_LOGIC_MUL},
               {TAKT_T_SLASHES, TAKT_LOGIC_DIV},
               {TAKT_T_PERCENT, TAKT_LOGIC_MOD}};
    enum { LONGEST = 64 };
    int length = 0;
    for (const takt_ast *p = a; p->kind == TAKT_A_BINARY; p = p->a)
        length++;
    for (size_t i = 0; i < sizeof ops / sizeof *ops && length < LONGEST; i++) {
        if (ops[i].token != a->token)
            continue;
        takt_formula *left = takt_rule_term(c, a->a);
        takt_formula *node =
            pair(c, TAKT_LOGIC_ARITH, a, left, left != NULL ? takt_rule_term(c, a->b) : NULL);
        if (node != NULL)
            node->op = ops[i].op;
        return node;
    }
    return wrong(c, a, "terms have + - * // and %",
                 length < LONGEST ? "this is not arithmetic of terms"
                                  : "a term has more than 64 parts");
}

static takt_formula *text(takt_convert_rule *c, const takt_ast *a, takt_span name)
{
    takt_formula *node = takt_rule_node(c, TAKT_LOGIC_NAMED, a);
    if (node != NULL)
        node->text = name;
    return node;
}

static takt_formula *term_name(takt_convert_rule *c, const takt_ast *a)
{
    const int variable = takt_rule_find(c, a->name);
    if (variable >= 0) {
        takt_formula *node = takt_rule_node(c, TAKT_LOGIC_VARIABLE, a);
        if (node != NULL)
            node->variable = variable;
        return node;
    }
    const takt_value *v = takt_frame_find(c->f, a->name);
    if (v != NULL && v->kind == TAKT_V_INT)
        return integer(c, a, v->i);
    if (v != NULL && v->kind == TAKT_V_TENSOR && takt_type_of(c->f->graph, v->id)->rank == 0)
        return takt_rule_element(c, a);
    return text(c, a, (takt_span){a->name->text, a->name->length});
}

takt_formula *takt_rule_term(takt_convert_rule *c, const takt_ast *a)
{
    takt_formula *node;
    if (c->f->e->status != TAKT_OK)
        return NULL;
    switch ((takt_ast_kind)a->kind) {
    case TAKT_A_NAME: return term_name(c, a);
    case TAKT_A_STRING: return text(c, a, a->text);
    case TAKT_A_INTEGER:
        if (a->integer > INT64_MAX)
            return wrong(c, a, NULL, "the number does not fit 64 bits");
        return integer(c, a, (int64_t)a->integer);
    case TAKT_A_DECIMAL:
        node = takt_rule_node(c, TAKT_LOGIC_DECIMAL, a);
        if (node != NULL)
            node->number = a->number;
        return node;
    case TAKT_A_NEGATE: {
        takt_formula *zero = integer(c, a, 0);
        node = pair(c, TAKT_LOGIC_ARITH, a, zero, zero != NULL ? takt_rule_term(c, a->a) : NULL);
        if (node != NULL)
            node->op = TAKT_LOGIC_SUB;
        return node;
    }
    case TAKT_A_BINARY: return arithmetic(c, a);
    case TAKT_A_INDEX: return takt_rule_element(c, a);
    case TAKT_A_EITHER: return choice(c, a, true);
    case TAKT_A_QUANTIFIER: return quantifier(c, a, true);
    default: return wrong(c, a, NULL, "a number is wanted here");
    }
}
