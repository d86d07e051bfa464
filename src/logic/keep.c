/* keep.c - copies of predicates and their rules. */
#include "logic/keep.h"

#include <string.h>

/* The copy without its rules. */
static takt_predicate *shell(takt_arena *arena, takt_relations *all, takt_predicate *p)
{
    if (p->kept != NULL)
        return p->kept;
    takt_predicate *copy = takt_arena_array(arena, 1, sizeof *copy);
    const char *name = takt_arena_format(arena, "%s", p->name);
    if (copy == NULL || name == NULL)
        return NULL;
    *copy = (takt_predicate){.name = name,
                             .arity = p->arity,
                             .semantics = p->semantics,
                             .missing = p->missing,
                             .form = p->form,
                             .value = p->value,
                             .index = all->kept_count++,
                             .stratum = p->stratum,
                             .is_recursive = p->is_recursive,
                             .next = all->kept};
    memcpy(copy->arg, p->arg, sizeof copy->arg);
    all->kept = copy;
    p->kept = copy;
    return copy;
}

static takt_formula *tree(takt_arena *arena, takt_relations *all, const takt_formula *f)
{
    takt_formula *copy = takt_arena_copy(arena, f, sizeof *f);
    if (copy == NULL)
        return NULL;
    copy->place = NULL;
    copy->text = (takt_span){0};
    copy->power = NULL;
    takt_formula **const own[] = {&copy->a, &copy->b, &copy->c};
    for (size_t i = 0; i < TAKT_LOGIC_OWN; i++)
        if (*own[i] != NULL && (*own[i] = tree(arena, all, *own[i])) == NULL)
            return NULL;
    copy->terms = takt_arena_array(arena, f->term_count + 1, sizeof *copy->terms);
    copy->bound = takt_arena_array(arena, f->bound_count + 1, sizeof *copy->bound);
    if (copy->terms == NULL || copy->bound == NULL)
        return NULL;
    for (size_t i = 0; i < f->term_count; i++)
        if ((copy->terms[i] = tree(arena, all, f->terms[i])) == NULL)
            return NULL;
    for (size_t i = 0; i < f->bound_count; i++)
        copy->bound[i] = f->bound[i];
    if (f->predicate != NULL)
        copy->predicate = shell(arena, all, f->predicate);
    return f->predicate == NULL || copy->predicate != NULL ? copy : NULL;
}

static takt_rule *rule_of(takt_arena *arena, takt_relations *all, const takt_rule *rule)
{
    takt_rule *copy = takt_arena_array(arena, 1, sizeof *copy);
    takt_variable *variables =
        takt_arena_array(arena, rule->variable_count + 1, sizeof *copy->variables);
    if (copy == NULL || variables == NULL)
        return NULL;
    *copy = (takt_rule){.head = rule->head->kept,
                        .variables = variables,
                        .variable_count = rule->variable_count,
                        .body = tree(arena, all, rule->body),
                        .line = rule->line};
    for (size_t i = 0; i < rule->variable_count; i++) {
        const takt_variable *v = &rule->variables[i];
        variables[i] = (takt_variable){.range = v->range};
        if (v->name != NULL &&
            (variables[i].name = takt_arena_format(arena, "%s", v->name)) == NULL)
            return NULL;
    }
    return copy->body != NULL ? copy : NULL;
}

takt_predicate *takt_predicate_keep(takt_arena *arena, takt_relations *all, takt_predicate *p)
{
    takt_predicate *copy = shell(arena, all, p);
    if (copy == NULL || copy->rules != NULL)
        return copy;
    copy->value = p->value; /* a rule that was used by an earlier one had no copy yet */
    copy->form = p->form;
    takt_rule **end = &copy->rules;
    for (const takt_rule *r = p->rules; r != NULL; r = r->next) {
        if ((*end = rule_of(arena, all, r)) == NULL)
            return NULL;
        end = &(*end)->next;
    }
    return copy;
}
