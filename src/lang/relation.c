/* relation.c - `relation parent(person, person) = "parent.tsv"`: facts, an input, or a tensor. */
#include "lang/relation.h"

static bool read_domains(takt_declared *d)
{
    for (const takt_ast *i = d->at->a; i != NULL; i = i->next) {
        if (d->arity == TAKT_MAX_RANK) {
            takt_complain(d->f, i, TAKT_E_RANK, NULL, "a relation has at most %d arguments",
                          TAKT_MAX_RANK);
            return false;
        }
        if ((d->domain[d->arity] = takt_rules_domain(d->f, i)) == NULL)
            return false;
        if (d->domain[d->arity]->is_open)
            d->stated = TAKT_STATED_SPARSE;
        d->type.dim[d->arity] = d->domain[d->arity]->size;
        d->arity++;
    }
    d->type.dtype = TAKT_BOOL;
    d->type.rank = d->arity;
    if (d->arity == 0)
        takt_complain(d->f, d->at, TAKT_E_RULE, "relation likes(person, person)",
                      "a relation has at least one domain");
    return d->arity > 0;
}

/* dense, sparse, and capacity=N of an input. */
static bool read_options(takt_declared *d)
{
    for (const takt_ast *o = d->at->c; o != NULL; o = o->next) {
        if (o->a == NULL) {
            if (d->stated != TAKT_STATED_NONE && d->stated != takt_rules_stated(o)) {
                takt_complain(d->f, o, TAKT_E_RULE, "one of the two words is enough",
                              "%s cannot be dense and sparse", d->at->name->text);
                return false;
            }
            d->stated = takt_rules_stated(o);
            continue;
        }
        const takt_value v = takt_eval_word(d->f, o->a);
        if (v.kind == TAKT_V_POISON)
            return false;
        if (!takt_span_is((takt_span){o->name->text, o->name->length}, "capacity")) {
            takt_complain(d->f, o, TAKT_E_RULE, "dense, sparse, or sparse capacity=1000",
                          "a relation has no option like %s", o->name->text);
            return false;
        }
        if (!takt_rules_capacity(d->f, o, &v, &d->capacity))
            return false;
    }
    if (d->capacity > 0 && (d->at->b != NULL || d->stated != TAKT_STATED_SPARSE))
        takt_complain(d->f, d->at->c, TAKT_E_RULE,
                      "relation likes(person, person) sparse capacity=9",
                      "a capacity is of an input that is sparse");
    return d->capacity == 0 || (d->at->b == NULL && d->stated == TAKT_STATED_SPARSE);
}

void takt_relation_declare(takt_declared *d, takt_id value, takt_form form, takt_relation_kind kind)
{
    takt_predicate *p = value != TAKT_NONE ? takt_rules_add(d->f, d->at->name, d->at) : NULL;
    takt_frame_set(d->f, d->at->name, takt_value_tensor(value));
    if (p == NULL)
        return;
    p->arity = d->arity;
    p->value = value;
    p->form = form;
    p->stated = d->stated;
    p->is_checked = kind == TAKT_KIND_FACTS;
    p->missing =
        form == TAKT_FORM_SOFT && kind != TAKT_KIND_TENSOR ? d->f->e->rules->semantics : NULL;
    p->facts = d->facts;
    p->fact_count = d->fact_count;
    for (int i = 0; i < d->arity; i++)
        p->arg[i] = (takt_var_range){true, d->domain[i], d->domain[i]->size};
    takt_rules_list(d->f, p, kind, 0);
}

/* ---- inputs and tensors ---- */

/* An input of tuples has room for `capacity` of them. */
static bool input_of_tuples(takt_declared *d, takt_type *type)
{
    const bool is_bool = d->f->e->rules->semantics->dtype == TAKT_BOOL;
    if (!is_bool || d->capacity == 0) {
        takt_complain(d->f, d->at, TAKT_E_RULE, "relation likes(person, person) sparse capacity=9",
                      is_bool ? "an input that is sparse wants a capacity"
                              : "a set of tuples is of a Boolean model");
        return false;
    }
    *type = (takt_type){.dtype = TAKT_U32, .rank = 2, .dim = {d->capacity, d->arity}};
    return true;
}

static void from_input(takt_declared *d)
{
    takt_frame *f = d->f;
    const takt_dtype own = f->e->rules->semantics->dtype;
    const bool is_soft = own != TAKT_BOOL, is_sparse = d->stated == TAKT_STATED_SPARSE;
    takt_type type = d->type;
    if (f->caller != NULL) {
        takt_complain(f, d->at, TAKT_E_RULE, "give it facts, or hand a tensor to the layer",
                      "a relation without facts is an input, and layers have none");
        return;
    }
    type.dtype = own == TAKT_F32 ? f->e->rules->truth : own;
    if (is_sparse && !input_of_tuples(d, &type))
        return;
    const takt_id id = takt_graph_input(f->graph, d->at->name->text, &type);
    if (id == TAKT_NONE)
        takt_complain_last(f, d->at);
    takt_relation_declare(d, id,
                          is_sparse ? TAKT_FORM_TUPLES
                          : is_soft ? TAKT_FORM_SOFT
                                    : TAKT_FORM_BOOL,
                          TAKT_KIND_INPUT);
}

static void from_tensor(takt_declared *d)
{
    takt_frame *f = d->f;
    char want[TAKT_TYPE_TEXT], got[TAKT_TYPE_TEXT];
    const takt_value v = takt_eval_expr(f, d->at->b);
    if (v.kind == TAKT_V_POISON) {
        takt_frame_set(f, d->at->name, v);
        return;
    }
    bool fits = v.kind == TAKT_V_TENSOR && takt_type_of(f->graph, v.id)->rank == d->arity;
    for (int i = 0; fits && i < d->arity; i++)
        fits = takt_dim_unify(f->graph->dims, takt_type_of(f->graph, v.id)->dim[i],
                              d->type.dim[i]) == TAKT_OK;
    if (!fits) {
        takt_complain(f, d->at->b, TAKT_E_SHAPE, NULL, "%s has the shape of %s, but this is %s",
                      d->at->name->text, takt_type_text(f->graph->dims, &d->type, want),
                      v.kind == TAKT_V_TENSOR
                          ? takt_type_text(f->graph->dims, takt_type_of(f->graph, v.id), got)
                          : takt_value_kind_text(&v));
        takt_frame_set(f, d->at->name, takt_value_poison());
        return;
    }
    const bool is_bool = takt_type_of(f->graph, v.id)->dtype == TAKT_BOOL;
    takt_relation_declare(d, v.id, is_bool ? TAKT_FORM_BOOL : TAKT_FORM_SOFT, TAKT_KIND_TENSOR);
}

void takt_eval_relation(takt_frame *f, const takt_ast *a)
{
    takt_declared d = {.f = f, .at = a};
    takt_frame_set(f, a->name, takt_value_poison());
    if (!read_domains(&d))
        return;
    takt_graph_set_origin(f->graph, a->name->text, (int)a->line);
    if (!read_options(&d))
        return;
    if (a->b == NULL)
        from_input(&d);
    else if (a->b->kind == TAKT_A_STRING)
        takt_relation_from_file(&d);
    else if (a->b->kind == TAKT_A_LIST)
        takt_relation_from_list(&d);
    else if (d.stated == TAKT_STATED_SPARSE)
        takt_complain(f, a, TAKT_E_RULE, NULL, "%s is a tensor, which is dense", a->name->text);
    else
        from_tensor(&d);
}
