/* ground_plan.c - formulas of rules under `probability`, prepared: which atoms are functions, which
 * are events. */
#include "logic/ground.h"

/* ---- terms ---- */

/* Whether a term's value follows from the variables while the model is built. */
static bool is_known(const takt_grounding *g, const takt_formula *t)
{
    switch ((takt_formula_kind)t->kind) {
    case TAKT_LOGIC_INTEGER: return true;
    case TAKT_LOGIC_VARIABLE: return !g->is_lifted[t->variable];
    case TAKT_LOGIC_ARITH:
        /* A divisor that is not a non-zero constant is left to the ops, which report it. */
        if ((t->op == TAKT_LOGIC_DIV || t->op == TAKT_LOGIC_MOD) &&
            (t->b->kind != TAKT_LOGIC_INTEGER || t->b->integer <= 0))
            return false;
        return is_known(g, t->a) && is_known(g, t->b);
    default: return false;
    }
}

/* The value of a term whose parts are known; wraps as the ops do. */
int64_t takt_ground_term(const takt_grounding *g, const takt_formula *t)
{
    if (t->kind == TAKT_LOGIC_INTEGER)
        return t->integer;
    if (t->kind == TAKT_LOGIC_VARIABLE)
        return g->env[t->variable];
    const int64_t a = takt_ground_term(g, t->a), b = takt_ground_term(g, t->b);
    switch ((takt_logic_op)t->op) {
    case TAKT_LOGIC_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TAKT_LOGIC_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case TAKT_LOGIC_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TAKT_LOGIC_DIV: return a / b;
    default: return a % b < 0 ? a % b + b : a % b;
    }
}

bool takt_ground_compare(const takt_grounding *g, const takt_formula *f)
{
    const int64_t a = takt_ground_term(g, f->a), b = takt_ground_term(g, f->b);
    switch ((takt_logic_op)f->op) {
    case TAKT_LOGIC_EQ: return a == b;
    case TAKT_LOGIC_NE: return a != b;
    case TAKT_LOGIC_LT: return a < b;
    case TAKT_LOGIC_LE: return a <= b;
    case TAKT_LOGIC_GT: return a > b;
    default: return a >= b;
    }
}

static bool stands_in(const takt_formula *f, int variable)
{
    if (f->kind == TAKT_LOGIC_VARIABLE && f->variable == variable)
        return true;
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL && stands_in(takt_formula_child(f, i), variable))
            return true;
    return false;
}

/* ---- compiling ---- */

void *takt_ground_room(const takt_grounding *g, size_t count, size_t size)
{
    void *at = takt_arena_array(g->l->program->arena, count, size);
    if (at == NULL)
        takt_graph_fail(g->l->g, TAKT_ERR_MEMORY);
    return at;
}

takt_ground_plan *takt_ground_refuse(const takt_grounding *g, takt_error_id id, const char *what,
                                     const char *hint)
{
    takt_lower_fail(g->l, id, "%s", what);
    if (hint != NULL)
        takt_fail_hint(g->l->program->ctx, "%s", hint);
    return NULL;
}

/* A lifted argument takes a lifted variable, any other a value. */
static takt_ground_plan *check_terms(const takt_grounding *g, takt_ground_plan *p,
                                     const takt_predicate *q)
{
    for (int i = 0; i < q->arity; i++) {
        const takt_formula *t = p->terms[i];
        const bool is_lifted = !takt_dim_is_number(takt_events_dim(g->l, q->arg[i].size));
        const bool has_lifted = t->kind == TAKT_LOGIC_VARIABLE && g->is_lifted[t->variable];
        if (is_lifted != has_lifted)
            return takt_ground_refuse(
                g, TAKT_E_SEMANTICS,
                "an axis whose size is a name takes a variable of that axis here", NULL);
    }
    return p;
}

static takt_ground_plan *compile_atom(takt_grounding *g, takt_ground_plan *p)
{
    const takt_formula *f = p->f;
    takt_predicate *q = f->predicate;
    p->terms = (const takt_formula **)f->terms;
    p->term_count = (int)f->term_count;
    if (q->is_closed) {
        takt_lower_fail(g->l, TAKT_E_SEMANTICS,
                        "%s is an exists or forall over an axis whose size is a name: rules of "
                        "probability cannot use it",
                        q->name);
        takt_fail_hint(g->l->program->ctx, "write the quantifier around the whole rule");
        return NULL;
    }
    if (q->form == TAKT_FORM_TUPLES && q->facts == NULL) {
        takt_lower_fail(g->l, TAKT_E_SEMANTICS,
                        "%s is a set of tuples, which rules of probability cannot use", q->name);
        return NULL;
    }
    const bool is_function =
        q->cells != NULL || (q->rules != NULL && (q->semantics == &takt_semantics_probability ||
                                                  q->semantics == &takt_semantics_boolean));
    if (is_function)
        return check_terms(g, p, q) != NULL ? takt_ground_needed(g, q, p) : NULL;
    if (q->form == TAKT_FORM_TUPLES)
        return check_terms(g, p, q);
    const bool is_truth = q->form == TAKT_FORM_BITS || q->form == TAKT_FORM_BOOL ||
                          (takt_dtype_is_float(takt_type_of(g->l->g, q->value)->dtype) &&
                           (q->semantics == NULL || q->semantics->is_truth));
    if (!is_truth) {
        takt_lower_fail(g->l, TAKT_E_SEMANTICS, "%s is not a truth value of probability semantics",
                        q->name);
        return NULL;
    }
    p->source = takt_events_of(g->l, g->e, q);
    return p->source != NULL ? check_terms(g, p, q) : NULL;
}

/* A comparison with values known only at run time: bools, each an event of probability 0 or 1. */
static takt_ground_plan *compile_compare(takt_grounding *g, takt_ground_plan *p)
{
    const takt_formula *f = p->f;
    int group = -1;
    if (is_known(g, f->a) && is_known(g, f->b))
        return p;
    const takt_labelled v = takt_lower_compare(g->l, f);
    if (!takt_labelled_is_good(&v))
        return NULL;
    for (int side = 0; side < 2 && f->op == TAKT_LOGIC_EQ; side++) {
        const takt_formula *x = side == 0 ? f->a : f->b, *t = side == 0 ? f->b : f->a;
        if (x->kind == TAKT_LOGIC_VARIABLE && !g->is_lifted[x->variable] &&
            !stands_in(t, x->variable))
            group = takt_labelled_axis(&v, x->variable);
    }
    p->source = takt_events_crisp(g->l, g->e, &v, group);
    p->terms = takt_ground_room(g, (size_t)v.rank + 1, sizeof *p->terms);
    takt_formula *own = takt_ground_room(g, (size_t)v.rank + 1, sizeof *own);
    if (p->source == NULL || p->terms == NULL || own == NULL)
        return NULL;
    for (int i = 0; i < v.rank; i++) {
        own[i] = (takt_formula){.kind = TAKT_LOGIC_VARIABLE, .variable = v.var[i]};
        p->terms[i] = &own[i];
    }
    p->term_count = v.rank;
    return p;
}

/* How many of the bound variables need a value before a part can be evaluated. */
static size_t waits_for(const takt_formula *f, const takt_formula *quantifier)
{
    for (size_t i = quantifier->bound_count; i > 0; i--)
        if (stands_in(f, quantifier->bound[i - 1]))
            return i;
    return 0;
}

/* Atoms known only at run time come last: they do not separate proofs. */
static bool is_late(const takt_ground_plan *p)
{
    return p->source != NULL && p->source->is_crisp && p->source->known == NULL;
}

static bool collect(takt_grounding *g, takt_ground_plan *p, const takt_formula *f)
{
    if (f->kind == TAKT_LOGIC_AND)
        return collect(g, p, f->a) && collect(g, p, f->b);
    if (p->part_count == TAKT_GROUND_PARTS)
        return takt_ground_refuse(g, TAKT_E_RULE, "a conjunction has more than 64 parts", NULL) !=
               NULL;
    takt_ground_plan *part = takt_ground_compile(g, f);
    p->part[p->part_count] = part;
    p->waits[p->part_count++] = waits_for(f, p->f);
    return part != NULL;
}

static takt_ground_plan *compile_exists(takt_grounding *g, takt_ground_plan *p)
{
    const takt_formula *f = p->f;
    if ((f->b != NULL && !collect(g, p, f->b)) || !collect(g, p, f->a))
        return NULL;
    for (size_t i = p->part_count; i-- > 0;) { /* late ones behind the others, in their order */
        if (!is_late(p->part[i]))
            continue;
        takt_ground_plan *late = p->part[i];
        const size_t waits = p->waits[i];
        for (size_t k = i; k + 1 < p->part_count && !is_late(p->part[k + 1]); k++) {
            p->part[k] = p->part[k + 1];
            p->waits[k] = p->waits[k + 1];
            p->part[k + 1] = late;
            p->waits[k + 1] = waits;
        }
    }
    return p;
}

static takt_ground_plan *check_bound(const takt_grounding *g, takt_ground_plan *p)
{
    for (size_t i = 0; i < p->f->bound_count; i++)
        if (g->is_lifted[p->f->bound[i]])
            return takt_ground_refuse(
                g, TAKT_E_SEMANTICS,
                "under probability, a quantifier over an axis whose size is a name "
                "stands around the whole rule",
                "give the part inside a rule of its own");
    if (p->f->has_power)
        return takt_ground_refuse(g, TAKT_E_SEMANTICS,
                                  "probability semantics have no means of powers", NULL);
    return p;
}

static takt_ground_plan *compile_kids(takt_grounding *g, takt_ground_plan *p)
{
    const takt_formula *f = p->f;
    if ((f->a != NULL && (p->a = takt_ground_compile(g, f->a)) == NULL) ||
        (f->b != NULL && (p->b = takt_ground_compile(g, f->b)) == NULL) ||
        (f->c != NULL && (p->c = takt_ground_compile(g, f->c)) == NULL))
        return NULL;
    return p;
}

static takt_ground_plan *compile_at_least(takt_grounding *g, takt_ground_plan *p)
{
    enum { MOST = 4096 };
    if (check_bound(g, p) == NULL)
        return NULL;
    if (p->f->integer > MOST)
        return takt_ground_refuse(g, TAKT_E_SEMANTICS,
                                  "under probability, at_least takes 4096 at most", NULL);
    p->counts = takt_ground_room(g, (size_t)p->f->integer + 1, sizeof *p->counts);
    return p->counts != NULL ? compile_kids(g, p) : NULL;
}

takt_ground_plan *takt_ground_compile(takt_grounding *g, const takt_formula *f)
{
    const void *place = g->l->place;
    takt_ground_plan *p = g->l->g->status == TAKT_OK ? takt_ground_room(g, 1, sizeof *p) : NULL;
    if (p == NULL)
        return NULL;
    p->f = f;
    g->l->place = f->place;
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_ATOM: p = compile_atom(g, p); break;
    case TAKT_LOGIC_COMPARE: p = compile_compare(g, p); break;
    case TAKT_LOGIC_EXISTS: p = check_bound(g, p) != NULL ? compile_exists(g, p) : NULL; break;
    case TAKT_LOGIC_AT_LEAST: p = compile_at_least(g, p); break;
    case TAKT_LOGIC_FORALL: p = check_bound(g, p) != NULL ? compile_kids(g, p) : NULL; break;
    case TAKT_LOGIC_TRUTH:
        if (f->number != 0 && f->number != 1)
            p = takt_ground_refuse(g, TAKT_E_SEMANTICS,
                                   "under probability, a formula has no numbers but 0 and 1",
                                   "give the rule a weight=, or make a relation with weights");
        break;
    case TAKT_LOGIC_AND:
    case TAKT_LOGIC_OR:
    case TAKT_LOGIC_NOT:
    case TAKT_LOGIC_IMPLIES:
    case TAKT_LOGIC_IFF:
    case TAKT_LOGIC_CHOICE: p = compile_kids(g, p); break;
    default:
        p = takt_ground_refuse(g, TAKT_E_RULE, "a truth value is wanted here, not a number", NULL);
    }
    g->l->place = place;
    return p;
}
