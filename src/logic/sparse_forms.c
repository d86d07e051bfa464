/* sparse_forms.c - which relations are sets of tuples: those that are too large to be dense, those
 * whose rule says so, and those that use them or are used by them. */
#include "logic/lower.h"
#include "logic/relation.h"

static bool is_large(const takt_predicate *p)
{
    double bits = 1;
    for (int i = 0; i < p->arity; i++)
        bits *= takt_dim_is_number(p->arg[i].size) ? (double)p->arg[i].size : 0;
    return bits / 8 > (double)TAKT_DENSE_LIMIT;
}

static bool touch(takt_predicate *p, const takt_formula *f)
{
    bool has_changed = false;
    if (f->kind == TAKT_LOGIC_ATOM) {
        takt_predicate *q = f->predicate;
        const bool is_sparse = p->form == TAKT_FORM_TUPLES || q->form == TAKT_FORM_TUPLES;
        if (is_sparse && p->form == TAKT_FORM_BITS) {
            p->form = TAKT_FORM_TUPLES;
            has_changed = true;
        }
        if (is_sparse && p->form == TAKT_FORM_TUPLES && q->form == TAKT_FORM_BITS &&
            q->rules != NULL) {
            q->form = TAKT_FORM_TUPLES;
            has_changed = true;
        }
    }
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            has_changed = touch(p, takt_formula_child(f, i)) || has_changed;
    return has_changed;
}

void takt_program_forms(takt_program *program)
{
    for (takt_predicate *p = program->predicates; p != NULL; p = p->next)
        if (p->rules != NULL && p->form == TAKT_FORM_BITS && (p->capacity > 0 || is_large(p)))
            p->form = TAKT_FORM_TUPLES;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (takt_predicate *p = program->predicates; p != NULL; p = p->next)
            for (const takt_rule *r = p->rules; r != NULL; r = r->next)
                goes_on = touch(p, r->body) || goes_on;
    }
}
