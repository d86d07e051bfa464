/* rule.c - rules and constraints: collected, analysed together, lowered into the graph. */
#include "lang/rule.h"

#include <string.h>

takt_rules *takt_rules_of(takt_frame *f)
{
    takt_elab *e = f->e;
    if (e->rules != NULL)
        return e->rules;
    takt_rules *r = takt_arena_array(&e->arena, 1, sizeof *r);
    if (r == NULL) {
        takt_out_of_memory(f);
        return NULL;
    }
    r->semantics = &takt_semantics_boolean;
    r->truth = TAKT_F32;
    r->last_pending = &r->pending;
    r->last_held = &r->held;
    e->rules = r;
    return r;
}

uint64_t takt_rules_dense_limit(const takt_frame *f)
{
    const uint64_t given = f->e->options->dense_limit;
    return given > 0 ? given : TAKT_DENSE_LIMIT;
}

bool takt_rules_capacity(takt_frame *f, const takt_ast *o, const takt_value *v, int64_t *to)
{
    enum { MOST = INT32_MAX / 8 };
    if (v->kind != TAKT_V_INT || v->i <= 0 || v->i > MOST)
        return takt_complain(f, o, TAKT_E_RULE, NULL, "a capacity is a number from 1 to %d", MOST)
            .b;
    *to = v->i;
    return true;
}

const takt_semantics *takt_rules_semantics(takt_frame *f, const takt_ast *at, const takt_value *v)
{
    char text[TAKT_VALUE_TEXT], hint[TAKT_HINT_TEXT];
    const takt_semantics *s = v->kind == TAKT_V_WORD ? takt_semantics_find(v->word->text) : NULL;
    if (s != NULL)
        return s;
    takt_value_text(f->graph, v, text);
    takt_nearest near = takt_nearest_to(text);
    for (size_t i = 0; takt_semantics_at(i) != NULL; i++)
        takt_nearest_try(&near, takt_semantics_at(i)->name);
    takt_complain(f, at, TAKT_E_SEMANTICS,
                  near.best != NULL ? takt_nearest_hint(&near, hint)
                                    : "boolean, godel, product, lukasiewicz, probability, "
                                      "viterbi, shortest, count",
                  "there are no semantics called %s", text);
    return NULL;
}

/* ---- predicates ---- */

takt_predicate *takt_rules_add(takt_frame *f, const takt_symbol *name, const takt_ast *at)
{
    takt_rules *r = takt_rules_of(f);
    takt_known *k = r != NULL ? takt_arena_array(&f->e->arena, 1, sizeof *k) : NULL;
    takt_predicate *p = k != NULL ? takt_arena_array(&f->e->arena, 1, sizeof *p) : NULL;
    if (p == NULL) {
        takt_out_of_memory(f);
        return NULL;
    }
    *p = (takt_predicate){.name = name->text,
                          .place = at,
                          .value = TAKT_NONE,
                          .inner = TAKT_NONE,
                          .log_truth = TAKT_NONE,
                          .delta = TAKT_NONE};
    *k = (takt_known){f, name, p, r->known};
    r->known = k;
    return p;
}

/* Softmax and sigmoid yield only truth values. */
static bool is_truth(const takt_graph *g, takt_id id)
{
    const char *name = g->nodes[id].op->name;
    return strcmp(name, "softmax") == 0 || strcmp(name, "sigmoid") == 0;
}

static takt_predicate *of_tensor(takt_frame *f, const takt_symbol *name, takt_id id)
{
    const takt_type type = *takt_type_of(f->graph, id);
    takt_predicate *p = takt_rules_add(f, name, f->function->place);
    if (p == NULL)
        return NULL;
    p->value = id;
    p->arity = type.rank;
    p->form = type.dtype == TAKT_BOOL ? TAKT_FORM_BOOL : TAKT_FORM_SOFT;
    p->is_checked = is_truth(f->graph, id);
    for (int i = 0; i < type.rank; i++)
        p->arg[i] = (takt_var_range){.is_known = true, .size = type.dim[i]};
    return p;
}

takt_predicate *takt_rules_find(takt_frame *f, const takt_symbol *name)
{
    const takt_value *v = takt_frame_find(f, name);
    const takt_rules *r = f->e->rules;
    for (takt_known *k = r != NULL ? r->known : NULL; k != NULL; k = k->next) {
        if (k->frame != f || k->name != name)
            continue;
        const bool is_current =
            v == NULL || (v->kind == TAKT_V_TENSOR && v->id == k->predicate->value);
        if (is_current || (k->predicate->rules != NULL && k->predicate->value == TAKT_NONE))
            return k->predicate;
    }
    return v != NULL && v->kind == TAKT_V_TENSOR ? of_tensor(f, name, v->id) : NULL;
}

/* ---- collecting ---- */

void takt_eval_rule(takt_frame *f, const takt_ast *a)
{
    takt_rules *r = takt_rules_of(f);
    if (r == NULL)
        return;
    if (f->is_subgraph) {
        takt_complain(f, a, TAKT_E_RULE, "write it before the loop or the choice",
                      "rules and relations belong to a model or a layer, not to a body that runs "
                      "inside it");
        return;
    }
    if (!takt_may_name(f, a))
        return;
    if (a->kind == TAKT_A_RELATION) {
        if (a->b != NULL && a->b->kind != TAKT_A_STRING && a->b->kind != TAKT_A_LIST)
            takt_rules_flush(f);
        takt_eval_relation(f, a);
        return;
    }
    takt_pending *p = takt_arena_array(&f->e->arena, 1, sizeof *p);
    if (p == NULL) {
        takt_out_of_memory(f);
        return;
    }
    p->at = a;
    *r->last_pending = p;
    r->last_pending = &p->next;
    r->pending_frame = f;
}

/* ---- the group ---- */

/* All predicates known in this frame: those of this group, and those they use. */
static void gather(takt_frame *f, takt_program *program)
{
    program->last = &program->predicates;
    for (takt_known *k = f->e->rules->known; k != NULL; k = k->next) {
        if (k->frame != f)
            continue;
        takt_predicate *p = k->predicate;
        p->next = NULL;
        if (p->value != TAKT_NONE)
            p->rules = NULL; /* of an earlier group: already a tensor */
        *program->last = p;
        program->last = &p->next;
        program->predicate_count++;
    }
}

static takt_id truth_of(takt_frame *f, const takt_predicate *p)
{
    return p->semantics->dtype == TAKT_BOOL ? takt_cast(f->graph, p->value, TAKT_F32) : p->value;
}

static void hold(takt_frame *f, const takt_ast *a, takt_predicate *p, const takt_rule *rule)
{
    takt_rules *r = f->e->rules;
    takt_held *h = takt_arena_array(&f->e->arena, 1, sizeof *h);
    if (h == NULL) {
        takt_out_of_memory(f);
        return;
    }
    *h = (takt_held){.name = p->name, .at = a, .truth = truth_of(f, p)};
    takt_id loss = p->log_truth != TAKT_NONE ? takt_neg(f->graph, p->log_truth)
                                             : p->semantics->loss(f->graph, h->truth);
    if (loss != TAKT_NONE && takt_type_of(f->graph, loss)->dtype != TAKT_F32)
        loss = takt_cast(f->graph, loss, TAKT_F32);
    h->loss = takt_mul_scalar(f->graph, loss, rule->loss_weight);
    *r->last_held = h;
    r->last_held = &h->next;
    takt_rules_list(f, p, TAKT_KIND_CONSTRAINT, rule->loss_weight);
}

/* The failure of the logic, at the place it names. */
static void complain(takt_frame *f, const takt_program *program, const takt_ast *at)
{
    takt_complain_last(f, program->place != NULL ? program->place : at);
    if (program->other != NULL && f->e->status == TAKT_OK)
        takt_warn(f, program->other, program->other_text != NULL ? program->other_text : "");
}

typedef struct group {
    const takt_ast *at;
    takt_rule *rule;
} group;

static void lower_group(takt_frame *f, const group *rules, size_t count)
{
    takt_program program = {.ctx = f->e->ctx,
                            .arena = &f->e->arena,
                            .graph = f->graph,
                            .truth = f->e->rules->truth,
                            .dense_limit = takt_rules_dense_limit(f),
                            .events = &f->e->rules->events};
    gather(f, &program);
    takt_status status = takt_program_analyse(&program);
    if (status == TAKT_OK)
        status = takt_program_lower(&program);
    if (status != TAKT_OK)
        complain(f, &program, rules[0].at);
    for (size_t i = 0; i < count; i++) {
        takt_predicate *p = rules[i].rule->head;
        const takt_value *old = takt_frame_find(f, rules[i].at->name);
        const bool is_first = p->value == TAKT_NONE || old == NULL || old->kind != TAKT_V_TENSOR ||
                              old->id != p->value;
        if (status != TAKT_OK)
            p->value = TAKT_NONE;
        takt_frame_set(f, rules[i].at->name, takt_value_tensor(p->value));
        if (status != TAKT_OK || !is_first)
            continue;
        if (rules[i].at->kind == TAKT_A_CONSTRAINT)
            hold(f, rules[i].at, p, rules[i].rule);
        else
            takt_rules_list(f, p, TAKT_KIND_RULE, 0);
    }
    if (status == TAKT_OK && f->graph->status != TAKT_OK)
        takt_complain_last(f, rules[0].at);
}

/* A constraint is a rule without arguments, whose semantics have a loss. */
static bool check_constraint(takt_frame *f, const takt_ast *a, const takt_rule *rule)
{
    if (a->kind != TAKT_A_CONSTRAINT || rule->head->semantics->loss != NULL)
        return true;
    takt_complain(f, a, TAKT_E_SEMANTICS, NULL, "%s semantics have no truth to be trained",
                  rule->head->semantics->name);
    return false;
}

void takt_rules_flush(takt_frame *f)
{
    takt_rules *r = f->e->rules;
    if (r == NULL || r->pending == NULL || r->pending_frame != f)
        return;
    const takt_pending *first = r->pending;
    size_t count = 0, at = 0;
    for (const takt_pending *p = first; p != NULL; p = p->next)
        count++;
    r->pending = NULL;
    r->last_pending = &r->pending;
    group *rules = takt_arena_array(&f->e->arena, count, sizeof *rules);
    if (rules == NULL) {
        takt_out_of_memory(f);
        return;
    }
    bool is_good = true;
    for (const takt_pending *p = first; p != NULL; p = p->next, at++) {
        rules[at] = (group){p->at, takt_rule_begin(f, p->at)};
        is_good = is_good && rules[at].rule != NULL;
    }
    for (size_t i = 0; i < count && f->e->status == TAKT_OK; i++)
        if (rules[i].rule != NULL)
            is_good = check_constraint(f, rules[i].at, rules[i].rule) &&
                      takt_rule_finish(f, rules[i].at, rules[i].rule) && is_good;
    if (f->e->status != TAKT_OK)
        return;
    if (is_good) {
        takt_graph_set_origin(f->graph, first->at->name->text, (int)first->at->line);
        lower_group(f, rules, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (rules[i].rule != NULL)
            rules[i].rule->head->rules = NULL;
        takt_frame_set(f, rules[i].at->name, takt_value_poison());
    }
}
