/* sparse_forms.c - chooses which relations are sets of tuples: those that are too large to be dense
 * or compare too many numbers, those marked sparse, and those that use them or are used by them. A
 * relation marked dense stays dense, or is refused. */
#include "logic/lower.h"
#include "logic/relation.h"

static bool is_large(const takt_program *program, const takt_predicate *p)
{
    double bits = 1;
    for (int i = 0; i < p->arity; i++)
        bits *= takt_dim_is_number(p->arg[i].size) ? (double)p->arg[i].size : 0;
    return bits / 8 > (double)program->dense_limit;
}

/* Whether rules of this form can be sets of tuples. */
static bool is_plain(const takt_formula *f)
{
    const bool is_term = f->kind == TAKT_LOGIC_VARIABLE || f->kind == TAKT_LOGIC_INTEGER ||
                         f->kind == TAKT_LOGIC_NAMED;
    bool is = is_term || f->kind == TAKT_LOGIC_ATOM || f->kind == TAKT_LOGIC_COMPARE ||
              f->kind == TAKT_LOGIC_AND || f->kind == TAKT_LOGIC_OR ||
              f->kind == TAKT_LOGIC_EXISTS ||
              (f->kind == TAKT_LOGIC_NOT && f->a->kind == TAKT_LOGIC_ATOM);
    for (size_t i = 0; i < takt_formula_children(f); i++)
        is = is && (takt_formula_child(f, i) == NULL || is_plain(takt_formula_child(f, i)));
    return is;
}

static bool all_plain(const takt_program *program)
{
    for (const takt_predicate *p = program->predicates; p != NULL; p = p->next)
        for (const takt_rule *r = p->rules; r != NULL; r = r->next)
            if (p->form != TAKT_FORM_BITS || !is_plain(r->body))
                return false;
    return true;
}

/* Whether a comparison has a variable whose numbers, an i64 each, are above the limit. */
static bool is_wide(const takt_program *program, const takt_rule *r, const takt_formula *f,
                    bool is_compared)
{
    const bool inside = is_compared || f->kind == TAKT_LOGIC_COMPARE;
    if (f->kind == TAKT_LOGIC_VARIABLE) {
        const takt_var_range *range = &r->variables[f->variable].range;
        return is_compared && range->is_known && takt_dim_is_number(range->size) &&
               !takt_numbers_fit((uint64_t)range->size, program->dense_limit);
    }
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL &&
            is_wide(program, r, takt_formula_child(f, i), inside))
            return true;
    return false;
}

static bool compares_wide(const takt_program *program, const takt_predicate *p)
{
    for (const takt_rule *r = p->rules; r != NULL; r = r->next)
        if (is_wide(program, r, r->body, false))
            return true;
    return false;
}

/* An argument that has no size: there is no dense form. */
static bool is_open(const takt_predicate *p)
{
    for (int i = 0; i < p->arity; i++)
        if (p->arg[i].domain != NULL && p->arg[i].domain->is_open)
            return true;
    return false;
}

static bool wants_tuples(const takt_program *program, const takt_predicate *p)
{
    if (p->rules == NULL || p->form != TAKT_FORM_BITS || p->stated == TAKT_STATED_DENSE)
        return false;
    return p->stated == TAKT_STATED_SPARSE || p->capacity > 0 || is_open(p) || is_large(program, p);
}

/* A dense relation next to a set of tuples: no op joins the two. */
static takt_status refuse(takt_program *program, const takt_formula *f, const takt_predicate *p)
{
    const takt_predicate *q = f->predicate;
    program->place = f->place;
    if (p->form == TAKT_FORM_TUPLES)
        takt_fail(program->ctx, TAKT_E_RULE, "%s is a set of tuples, but uses %s, which is dense",
                  p->name, q->name);
    else
        takt_fail(program->ctx, TAKT_E_RULE, "%s is dense, but uses %s, which is a set of tuples",
                  p->name, q->name);
    return takt_fail_hint(program->ctx,
                          "rules that use each other have one form: leave out the word dense, or "
                          "make all of them dense");
}

/* Checks the body of a rule of p. */
static takt_status check_dense(takt_program *program, const takt_predicate *p,
                               const takt_formula *f)
{
    if (f->kind == TAKT_LOGIC_ATOM) {
        const takt_predicate *q = f->predicate;
        const bool is_forced = p->stated == TAKT_STATED_DENSE && q->form == TAKT_FORM_TUPLES;
        const bool forces = q->stated == TAKT_STATED_DENSE && q->rules != NULL &&
                            q->form == TAKT_FORM_BITS && p->form == TAKT_FORM_TUPLES;
        if (is_forced || forces)
            return refuse(program, f, p);
    }
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            TAKT_TRY(check_dense(program, p, takt_formula_child(f, i)));
    return TAKT_OK;
}

static bool touch(takt_predicate *p, const takt_formula *f)
{
    bool has_changed = false;
    if (f->kind == TAKT_LOGIC_ATOM) {
        takt_predicate *q = f->predicate;
        const bool is_sparse = p->form == TAKT_FORM_TUPLES || q->form == TAKT_FORM_TUPLES;
        if (is_sparse && p->form == TAKT_FORM_BITS && p->stated != TAKT_STATED_DENSE) {
            p->form = TAKT_FORM_TUPLES;
            has_changed = true;
        }
        if (is_sparse && p->form == TAKT_FORM_TUPLES && q->form == TAKT_FORM_BITS &&
            q->rules != NULL && q->stated != TAKT_STATED_DENSE) {
            q->form = TAKT_FORM_TUPLES;
            has_changed = true;
        }
    }
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            has_changed = touch(p, takt_formula_child(f, i)) || has_changed;
    return has_changed;
}

/* Soft relations, numbers and dense ones have an element for each tuple. */
static takt_status check_open(takt_program *program)
{
    for (const takt_predicate *p = program->predicates; p != NULL; p = p->next)
        if (p->rules != NULL && is_open(p) && !wants_tuples(program, p)) {
            program->place = p->place;
            takt_fail(program->ctx, TAKT_E_RULE, "%s is not a set of tuples, but its domain is i32",
                      p->name);
            return takt_fail_hint(program->ctx, "give the domain a size");
        }
    return TAKT_OK;
}

takt_status takt_program_forms(takt_program *program)
{
    TAKT_TRY(check_open(program));
    const bool may_all = all_plain(program);
    for (takt_predicate *p = program->predicates; p != NULL; p = p->next)
        if (wants_tuples(program, p) ||
            (may_all && p->stated != TAKT_STATED_DENSE && compares_wide(program, p)))
            p->form = TAKT_FORM_TUPLES;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (takt_predicate *p = program->predicates; p != NULL; p = p->next)
            for (const takt_rule *r = p->rules; r != NULL; r = r->next)
                goes_on = touch(p, r->body) || goes_on;
    }
    for (const takt_predicate *p = program->predicates; p != NULL; p = p->next)
        for (const takt_rule *r = p->rules; r != NULL; r = r->next)
            TAKT_TRY(check_dense(program, p, r->body));
    return TAKT_OK;
}
