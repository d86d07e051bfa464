/* ranges.c - what every variable ranges over, inferred from where it occurs.
 *
 * Ranges propagate from arguments of predicates to variables, and from the variables of a head to
 * the predicate's arguments, until nothing changes: rules may use each other in any order. */
#include <stdio.h>

#include "logic/formula.h"

typedef struct search {
    takt_program *program;
    takt_rule *rule;
    bool has_changed;
} search;

static const char *range_text(const takt_program *p, const takt_var_range *r, char *buffer,
                              size_t size)
{
    takt_text text;
    takt_text_init(&text, p->ctx);
    if (r->domain != NULL)
        takt_text_add(&text, "%s", r->domain->name);
    else
        takt_text_add(&text, "an axis of size ");
    if (r->domain == NULL)
        takt_dim_print(p->graph->dims, r->size, &text);
    snprintf(buffer, size, "%s", takt_text_get(&text));
    takt_text_deinit(&text);
    return buffer;
}

static takt_status conflict(search *s, const takt_variable *v, const takt_var_range *other,
                            const void *place)
{
    char first[96], second[96];
    takt_program *p = s->program;
    p->place = place;
    p->other = v->place;
    range_text(p, &v->range, first, sizeof first);
    p->other_text = takt_arena_format(p->arena, "here %s is of %s", v->name, first);
    return takt_fail(p->ctx, TAKT_E_DOMAIN, "%s is of %s elsewhere, but of %s here", v->name, first,
                     range_text(p, other, second, sizeof second));
}

static bool fits(const takt_program *p, const takt_var_range *a, const takt_var_range *b)
{
    if (a->domain != NULL && b->domain != NULL)
        return a->domain == b->domain;
    return takt_dim_unify(p->graph->dims, a->size, b->size) == TAKT_OK;
}

/* In both directions: a known range determines the other. */
static takt_status meet(search *s, takt_variable *v, takt_var_range *other, const void *place)
{
    if (!v->range.is_known && !other->is_known)
        return TAKT_OK;
    if (!v->range.is_known) {
        v->range = *other;
        v->place = place;
        s->has_changed = true;
        return TAKT_OK;
    }
    if (!other->is_known) {
        *other = v->range;
        s->has_changed = true;
        return TAKT_OK;
    }
    if (!fits(s->program, &v->range, other))
        return s->program->ctx->error.status == TAKT_ERR_MEMORY ? TAKT_ERR_MEMORY
                                                                : conflict(s, v, other, place);
    if (v->range.domain == NULL && other->domain != NULL) {
        v->range = *other;
        s->has_changed = true;
    } else if (v->range.domain != NULL && other->domain == NULL) {
        *other = v->range;
        s->has_changed = true;
    }
    return TAKT_OK;
}

/* A name in a position whose domain has names becomes the number of its entry. */
static takt_status resolve(search *s, takt_formula *term, const takt_var_range *r)
{
    char hint[TAKT_DOMAIN_HINT];
    uint32_t index;
    if (term->kind != TAKT_LOGIC_NAMED || !r->is_known)
        return TAKT_OK;
    const int shown = term->text.length < 64 ? (int)term->text.length : 64;
    if (r->domain != NULL && takt_domain_find(r->domain, term->text, &index)) {
        term->kind = TAKT_LOGIC_INTEGER;
        term->integer = index;
        return TAKT_OK;
    }
    s->program->place = term->place;
    if (r->domain == NULL)
        takt_fail(s->program->ctx, TAKT_E_UNBOUND, "%.*s is not a variable here", shown,
                  term->text.at);
    else
        takt_fail(s->program->ctx, TAKT_E_DOMAIN,
                  "%.*s is not a variable here, nor a name of domain %s", shown, term->text.at,
                  r->domain->name);
    const char *near = r->domain != NULL ? takt_domain_nearest(r->domain, term->text, hint) : NULL;
    if (near != NULL)
        return takt_fail_hint(s->program->ctx, "%s", near);
    return takt_fail_hint(s->program->ctx,
                          "variables are those of the head and of quantifiers: "
                          "`exists %.*s: ...`",
                          shown, term->text.at);
}

static takt_status check_constant(search *s, const takt_formula *f, takt_formula *term,
                                  const takt_var_range *r)
{
    TAKT_TRY(resolve(s, term, r));
    if (term->kind == TAKT_LOGIC_NAMED)
        return TAKT_OK;
    if (!r->is_known || !takt_dim_is_number(r->size) ||
        (term->integer >= 0 && term->integer < r->size))
        return TAKT_OK;
    s->program->place = term->place;
    return takt_fail(s->program->ctx, TAKT_E_DOMAIN, "%s has %lld elements here: there is no %lld",
                     f->predicate->name, (long long)r->size, (long long)term->integer);
}

static takt_status visit(search *s, const takt_formula *f)
{
    if (f->kind == TAKT_LOGIC_ATOM || f->kind == TAKT_LOGIC_ELEMENT)
        for (size_t i = 0; i < f->term_count; i++) {
            takt_formula *t = f->terms[i];
            if (t->kind == TAKT_LOGIC_VARIABLE)
                TAKT_TRY(
                    meet(s, &s->rule->variables[t->variable], &f->predicate->arg[i], t->place));
            else
                TAKT_TRY(check_constant(s, f, t, &f->predicate->arg[i]));
        }
    if (f->kind == TAKT_LOGIC_COMPARE && f->op == TAKT_LOGIC_EQ &&
        f->a->kind == TAKT_LOGIC_VARIABLE && f->b->kind == TAKT_LOGIC_VARIABLE) {
        takt_variable *a = &s->rule->variables[f->a->variable];
        takt_variable *b = &s->rule->variables[f->b->variable];
        if (!a->range.is_known || !b->range.is_known)
            TAKT_TRY(meet(s, a, &b->range, f->b->place));
    }
    if (f->kind == TAKT_LOGIC_COMPARE && f->a->kind == TAKT_LOGIC_VARIABLE)
        TAKT_TRY(resolve(s, f->b, &s->rule->variables[f->a->variable].range));
    if (f->kind == TAKT_LOGIC_COMPARE && f->b->kind == TAKT_LOGIC_VARIABLE)
        TAKT_TRY(resolve(s, f->a, &s->rule->variables[f->b->variable].range));
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            TAKT_TRY(visit(s, takt_formula_child(f, i)));
    return TAKT_OK;
}

/* A name for which no domain was found. */
static takt_status check_named(takt_program *program, const takt_formula *f)
{
    if (f->kind == TAKT_LOGIC_NAMED) {
        program->place = f->place;
        return takt_fail(program->ctx, TAKT_E_UNBOUND, "%.*s is not a variable here",
                         f->text.length < 64 ? (int)f->text.length : 64, f->text.at);
    }
    for (size_t i = 0; i < takt_formula_children(f); i++)
        if (takt_formula_child(f, i) != NULL)
            TAKT_TRY(check_named(program, takt_formula_child(f, i)));
    return TAKT_OK;
}

static takt_status visit_rule(search *s, takt_rule *rule)
{
    takt_predicate *p = rule->head;
    const int count = p->arity - (p->form == TAKT_FORM_VALUE);
    s->rule = rule;
    for (int i = 0; i < count; i++)
        TAKT_TRY(meet(s, &rule->variables[i], &p->arg[i], rule->place));
    return visit(s, rule->body);
}

static takt_status check_known(takt_program *program, const takt_rule *r)
{
    for (size_t i = 0; i < r->variable_count; i++) {
        const takt_variable *v = &r->variables[i];
        const bool is_value = r->head->form == TAKT_FORM_VALUE && (int)i == r->head->arity - 1;
        if (v->range.is_known || is_value)
            continue;
        program->place = v->place;
        takt_fail(program->ctx, TAKT_E_UNBOUND, "nothing says what %s ranges over", v->name);
        return takt_fail_hint(program->ctx,
                              "use it in a relation or a tensor, or write its domain: `%s: "
                              "person` in the head, `exists %s in person:` in a quantifier",
                              v->name, v->name);
    }
    return TAKT_OK;
}

takt_status takt_program_ranges(takt_program *program)
{
    search s = {.program = program, .has_changed = true};
    while (s.has_changed) {
        s.has_changed = false;
        for (takt_predicate *p = program->predicates; p != NULL; p = p->next)
            for (takt_rule *r = p->rules; r != NULL; r = r->next)
                TAKT_TRY(visit_rule(&s, r));
    }
    for (takt_predicate *p = program->predicates; p != NULL; p = p->next)
        for (takt_rule *r = p->rules; r != NULL; r = r->next) {
            TAKT_TRY(check_known(program, r));
            TAKT_TRY(check_named(program, r->body));
        }
    return TAKT_OK;
}

takt_status takt_program_analyse(takt_program *program)
{
    TAKT_TRY(takt_program_ranges(program));
    return takt_program_strata(program);
}
