/* rule_outputs.c - outputs of a model with rules besides its own results, and how they are
 * reported. */
#include "lang/rule.h"
#include "logic/keep.h"

/* The relations of the graph, created with the first one. */
static takt_relations *relations_of(takt_frame *f)
{
    takt_rules *r = f->e->rules;
    if (r->relations == NULL) {
        r->relations = takt_arena_array(&f->graph->arena, 1, sizeof *r->relations);
        if (r->relations == NULL)
            return NULL;
        r->relations->last = &r->relations->first;
        f->graph->relations = r->relations;
    }
    return r->relations;
}

static const char *kept(takt_frame *f, const char *text)
{
    return text != NULL ? takt_arena_format(&f->graph->arena, "%s", text) : "";
}

void takt_rules_list(takt_frame *f, takt_predicate *p, takt_relation_kind kind, double weight)
{
    takt_relations *all = relations_of(f);
    takt_relation_info *r = all != NULL ? takt_arena_array(&f->graph->arena, 1, sizeof *r) : NULL;
    if (r == NULL) {
        takt_out_of_memory(f);
        return;
    }
    *r = (takt_relation_info){.name = kept(f, p->name),
                              .kind = kind,
                              .arity = p->arity,
                              .form = p->form,
                              .semantics = p->semantics != NULL ? p->semantics->name : NULL,
                              .stratum = kind == TAKT_KIND_RULE ? p->stratum : -1,
                              .is_recursive = p->is_recursive,
                              .joins = "",
                              .weight = weight,
                              .type = *takt_type_of(f->graph, p->value),
                              .predicate = takt_predicate_keep(&f->graph->arena, all, p)};
    for (int i = 0; i < p->arity; i++)
        r->arg[i] = p->arg[i];
    r->each = p->each;
    r->each_arity = kind == TAKT_KIND_CONSTRAINT ? p->each_count : 0;
    for (int i = 0; i < r->each_arity; i++)
        r->each_arg[i] = p->rules->variables[p->each_var[i]].range;
    for (const takt_rule *rule = p->rules; rule != NULL; rule = rule->next, r->rule_count++)
        if (rule->joins != NULL && rule->joins[0] != '\0')
            r->joins = r->joins[0] == '\0'
                           ? kept(f, rule->joins)
                           : takt_arena_format(&f->graph->arena, "%s; %s", r->joins, rule->joins);
    if (r->name == NULL || r->joins == NULL || r->predicate == NULL) {
        takt_out_of_memory(f);
        return;
    }
    *all->last = r;
    all->last = &r->next;
    all->count++;
}

const char *takt_rules_output_name(takt_frame *f, const takt_ast *a)
{
    if (f->e->rules == NULL || a == NULL || a->kind != TAKT_A_NAME)
        return NULL;
    const takt_value *v = takt_frame_find(f, a->name);
    for (const takt_known *k = f->e->rules->known; k != NULL; k = k->next)
        if (k->frame == f && k->name == a->name && v != NULL && v->kind == TAKT_V_TENSOR &&
            v->id == k->predicate->value &&
            takt_relation_find(f->graph, k->predicate->name) != NULL)
            return a->name->text;
    return NULL;
}

static void output(takt_frame *f, const takt_held *h, const char *name, takt_id id)
{
    takt_graph_output(f->graph, name, id);
    if (f->graph->status != TAKT_OK)
        takt_complain_last(f, h->at);
}

/* Every constraint's truth under its name, and the sum of their losses as `loss`. */
void takt_rules_outputs(takt_frame *f)
{
    const takt_rules *r = f->e->rules;
    takt_id loss = TAKT_NONE;
    if (r == NULL || r->held == NULL || f->caller != NULL)
        return;
    for (const takt_held *h = r->held; h != NULL && f->e->status == TAKT_OK; h = h->next) {
        output(f, h, h->name, h->truth);
        loss = loss == TAKT_NONE ? h->loss : takt_add(f->graph, loss, h->loss);
    }
    if (f->e->status == TAKT_OK)
        output(f, r->held, "loss", loss);
}
