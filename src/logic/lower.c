/* lower.c - formulas and rules to nodes. */
#include "logic/lower.h"

#include <string.h>

#include "logic/events.h"
#include "op/util/bits.h"

/* ---- connectives ---- */

static takt_labelled lacks(takt_lower *l, const char *what)
{
    takt_lower_fail(l, TAKT_E_SEMANTICS, "%s semantics have no `%s`", l->semantics->name, what);
    takt_fail_hint(l->program->ctx, "docs/logic.md has a table of which connectives each has");
    return takt_labelled_none();
}

static takt_labelled negation(takt_lower *l, const takt_formula *f)
{
    const takt_labelled v = takt_lower_formula(l, f->a);
    if (!takt_labelled_is_good(&v))
        return v;
    return l->semantics->not == NULL ? lacks(l, "not") : takt_labelled_not(l, &v);
}

static takt_labelled implication(takt_lower *l, const takt_formula *f)
{
    const takt_labelled a = takt_lower_formula(l, f->a), b = takt_lower_formula(l, f->b);
    if (l->semantics->implies == NULL)
        return lacks(l, f->kind == TAKT_LOGIC_IFF ? "iff" : "implies");
    const takt_labelled there = takt_labelled_pair(l, &a, &b, l->semantics->implies);
    if (f->kind == TAKT_LOGIC_IMPLIES)
        return there;
    const takt_labelled back = takt_labelled_pair(l, &b, &a, l->semantics->implies);
    return takt_labelled_both(l, &there, &back);
}

/* a where b holds, else c. */
static takt_labelled choice(takt_lower *l, const takt_formula *f)
{
    const takt_labelled c = takt_lower_crisp(l, f->b);
    const takt_labelled a = takt_lower_formula(l, f->a), b = takt_lower_formula(l, f->c);
    takt_labelled both, out;
    if (!takt_labelled_is_good(&a) || !takt_labelled_is_good(&b) || !takt_labelled_is_good(&c) ||
        !takt_labelled_union(l, &a, &b, &both) || !takt_labelled_union(l, &both, &c, &out))
        return takt_labelled_none();
    out.id = takt_select(l->g, takt_labelled_arrange(l, &c, out.var, out.rank),
                         takt_labelled_arrange(l, &a, out.var, out.rank),
                         takt_labelled_arrange(l, &b, out.var, out.rank));
    return out;
}

static takt_labelled by_kind(takt_lower *l, const takt_formula *f)
{
    takt_labelled a, b;
    switch ((takt_formula_kind)f->kind) {
    case TAKT_LOGIC_ATOM: return takt_lower_atom(l, f);
    case TAKT_LOGIC_COMPARE: return takt_labelled_from_bool(l, takt_lower_compare(l, f));
    case TAKT_LOGIC_NOT: return negation(l, f);
    case TAKT_LOGIC_IMPLIES:
    case TAKT_LOGIC_IFF: return implication(l, f);
    case TAKT_LOGIC_EXISTS: return f->has_power ? takt_lower_power(l, f) : takt_lower_exists(l, f);
    case TAKT_LOGIC_FORALL: return f->has_power ? takt_lower_power(l, f) : takt_lower_forall(l, f);
    case TAKT_LOGIC_AT_LEAST: return takt_lower_at_least(l, f);
    case TAKT_LOGIC_CHOICE: return choice(l, f);
    case TAKT_LOGIC_AND:
    case TAKT_LOGIC_OR:
        a = takt_lower_formula(l, f->a);
        b = takt_lower_formula(l, f->b);
        return f->kind == TAKT_LOGIC_AND ? takt_labelled_both(l, &a, &b)
                                         : takt_labelled_either(l, &a, &b);
    case TAKT_LOGIC_TRUTH:
        if (l->semantics->dtype != TAKT_F32 && f->number != 0 && f->number != 1)
            return takt_lower_fail(l, TAKT_E_SEMANTICS, "%g is not a truth value of %s semantics",
                                   f->number, l->semantics->name);
        return takt_labelled_scalar(takt_lower_constant(l, f->number == 0   ? l->semantics->none
                                                           : f->number == 1 ? l->semantics->all
                                                                            : f->number));
    default: return takt_lower_fail(l, TAKT_E_RULE, "a truth value is wanted here, not a number");
    }
}

takt_labelled takt_lower_formula(takt_lower *l, const takt_formula *f)
{
    const void *place = l->place;
    if (l->g->status != TAKT_OK)
        return takt_labelled_none();
    l->place = f->place;
    const takt_labelled v = by_kind(l, f);
    if (l->g->status != TAKT_OK && l->program->place == NULL)
        l->program->place = l->place; /* a node could not be made */
    l->place = place;
    return v;
}

takt_labelled takt_lower_crisp(takt_lower *l, const takt_formula *f)
{
    const takt_semantics *own = l->semantics;
    l->semantics = &takt_semantics_boolean;
    const takt_labelled v = takt_lower_formula(l, f);
    l->semantics = own;
    return v;
}

/* ---- rules ---- */

/* The body of a rule whose last argument is a number: the term it is equal to. */
static takt_labelled number(takt_lower *l, const takt_rule *rule)
{
    const int last = rule->head->arity - 1;
    const takt_formula *f = rule->body;
    const bool is_left = f->a->kind == TAKT_LOGIC_VARIABLE && f->a->variable == last;
    return takt_lower_term(l, is_left ? f->b : f->a);
}

takt_id takt_lower_rule(takt_lower *l, const takt_rule *rule)
{
    const takt_predicate *p = rule->head;
    int vars[TAKT_MAX_RANK];
    const bool is_value = p->form == TAKT_FORM_VALUE;
    const int rank = p->arity - is_value;
    for (int i = 0; i < rank; i++)
        vars[i] = i;
    l->rule = rule;
    l->semantics = p->semantics;
    l->place = rule->place;
    l->delta_seen = 0;
    takt_labelled v = is_value ? number(l, rule) : takt_lower_formula(l, rule->body);
    if (rule->has_weight) {
        const takt_labelled weight = takt_labelled_scalar(takt_lower_constant(l, rule->weight));
        v = takt_labelled_both(l, &v, &weight);
    }
    if (!takt_labelled_is_good(&v))
        return TAKT_NONE;
    if (p->form == TAKT_FORM_BITS) {
        bool is_stored = v.bits != TAKT_NONE && v.rank == rank;
        for (int i = 0; is_stored && i < rank; i++)
            is_stored = v.var[i] == i;
        return is_stored ? v.bits : takt_pack_bits(l->g, takt_labelled_spread(l, &v, vars, rank));
    }
    return takt_labelled_spread(l, &v, vars, rank);
}

takt_id takt_lower_rules(takt_lower *l, const takt_predicate *p)
{
    takt_id all = TAKT_NONE;
    for (takt_rule *r = p->rules; r != NULL && l->g->status == TAKT_OK; r = r->next) {
        takt_text joins;
        takt_text_init(&joins, l->program->ctx);
        l->joins = &joins;
        const takt_id one = takt_lower_rule(l, r);
        l->joins = NULL;
        if (joins.status != TAKT_OK)
            takt_graph_fail(l->g, joins.status);
        else if (r->joins == NULL)
            r->joins = takt_arena_text(l->program->arena, takt_text_get(&joins), joins.length);
        takt_text_deinit(&joins);
        all = all == TAKT_NONE ? one : p->semantics->either(l->g, all, one);
    }
    return all;
}

/* ---- programs ---- */

static void name_value(takt_program *program, const takt_predicate *p)
{
    takt_graph *g = program->graph;
    if (p->value != TAKT_NONE && g->nodes[p->value].name == NULL)
        g->nodes[p->value].name = takt_arena_text(&g->arena, p->name, strlen(p->name));
}

static takt_status lower_stratum(takt_program *program, int stratum)
{
    takt_lower l = {.program = program, .g = program->graph, .delta_index = -1};
    takt_predicate *members[64];
    size_t count = 0;
    for (takt_predicate *p = program->predicates; p != NULL; p = p->next) {
        if (p->rules == NULL || p->stratum != stratum)
            continue;
        if (count == sizeof members / sizeof *members) {
            program->place = p->place;
            return takt_fail(program->ctx, TAKT_E_RULE, "more than %zu rules depend on each other",
                             count);
        }
        members[count++] = p;
    }
    if (count > 0)
        takt_graph_set_origin(program->graph, members[0]->name, 0);
    if (count > 0 && members[0]->form == TAKT_FORM_TUPLES)
        takt_lower_sparse(&l, members, count);
    else if (count > 0 && members[0]->semantics == &takt_semantics_probability &&
             members[0]->form != TAKT_FORM_VALUE)
        takt_lower_probability(&l, members, count);
    else if (count > 0 && members[0]->is_recursive)
        takt_lower_recursion(&l, members, count);
    else if (count > 0)
        members[0]->value = takt_lower_rules(&l, members[0]);
    for (size_t i = 0; i < count && program->graph->status == TAKT_OK; i++)
        name_value(program, members[i]);
    if (program->graph->status != TAKT_OK && program->place == NULL)
        program->place = count > 0 ? members[0]->place : NULL;
    return program->graph->status;
}

takt_status takt_program_lower(takt_program *program)
{
    int last = -1;
    TAKT_TRY(takt_program_forms(program));
    for (const takt_predicate *p = program->predicates; p != NULL; p = p->next)
        last = p->rules != NULL && p->stratum > last ? p->stratum : last;
    for (int s = 0; s <= last; s++)
        TAKT_TRY(lower_stratum(program, s));
    return TAKT_OK;
}
