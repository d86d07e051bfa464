/* relation.c - `relation parent(person, person) = "parent.tsv"`: facts, an input, or a tensor. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "lang/rule.h"
#include "logic/facts.h"
#include "op/util/datalog.h"

typedef struct declared {
    takt_frame *f;
    const takt_ast *at;
    int arity;
    const takt_domain *domain[TAKT_MAX_RANK];
    takt_type type; /* bool, with the sizes of the domains */
    const uint32_t *facts;
    size_t fact_count;
} declared;

static bool read_domains(declared *d)
{
    for (const takt_ast *i = d->at->a; i != NULL; i = i->next) {
        if (d->arity == TAKT_MAX_RANK) {
            takt_complain(d->f, i, TAKT_E_RANK, NULL, "a relation has at most %d arguments",
                          TAKT_MAX_RANK);
            return false;
        }
        if ((d->domain[d->arity] = takt_rules_domain(d->f, i)) == NULL)
            return false;
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

static void declare(declared *d, takt_id value, takt_form form, takt_relation_kind kind)
{
    takt_predicate *p = value != TAKT_NONE ? takt_rules_add(d->f, d->at->name, d->at) : NULL;
    takt_frame_set(d->f, d->at->name, takt_value_tensor(value));
    if (p == NULL)
        return;
    p->arity = d->arity;
    p->value = value;
    p->form = form;
    p->is_checked = kind == TAKT_KIND_FACTS;
    p->missing =
        form == TAKT_FORM_SOFT && kind != TAKT_KIND_TENSOR ? d->f->e->rules->semantics : NULL;
    p->facts = d->facts;
    p->fact_count = d->fact_count;
    for (int i = 0; i < d->arity; i++)
        p->arg[i] = (takt_var_range){true, d->domain[i], d->domain[i]->size};
    takt_rules_list(d->f, p, kind, 0);
}

/* ---- facts ---- */

/* Element number of a tuple in the dense tensor. */
static size_t place_of(const declared *d, const uint32_t *tuple)
{
    size_t at = 0;
    for (int i = 0; i < d->arity; i++)
        at = at * (size_t)d->type.dim[i] + tuple[i];
    return at;
}

static void fill_bits(const declared *d, const takt_fact_table *facts, uint64_t *words)
{
    const size_t last = (size_t)d->type.dim[d->arity - 1], row = last / 64 + (last % 64 != 0);
    for (size_t i = 0; i < facts->count; i++) {
        const uint32_t *t = facts->tuples + i * (size_t)d->arity;
        const size_t line = place_of(d, t) / last, column = t[d->arity - 1];
        words[line * row + column / 64] |= UINT64_C(1) << column % 64;
    }
}

/* Weights are lengths: a missing fact has an infinite one. */
static bool is_length(const declared *d)
{
    return d->f->e->rules->semantics->none != 0;
}

/* A duplicate fact counts once: with its larger weight, or its lesser length. */
static void fill_weights(const declared *d, const takt_fact_table *facts, takt_tensor *to)
{
    const takt_dtype dtype = to->type.dtype;
    void *data = takt_tensor_data(to);
    for (size_t i = 0; is_length(d) && i < takt_tensor_count(to); i++)
        takt_dtype_put_f(dtype, data, i, d->f->e->rules->semantics->none);
    for (size_t i = 0; i < facts->count; i++) {
        const size_t at = place_of(d, facts->tuples + i * (size_t)d->arity);
        const double old = takt_dtype_get_f(dtype, data, at);
        if (is_length(d) ? facts->weights[i] < old : facts->weights[i] > old)
            takt_dtype_put_f(dtype, data, at, facts->weights[i]);
    }
}

static bool fits_dense(const declared *d, const takt_type *type)
{
    size_t bytes;
    const uint64_t most = d->f->e->ctx->limits.tensor_bytes;
    return takt_type_bytes(type, &bytes) && bytes <= most && bytes <= TAKT_DENSE_LIMIT;
}

static bool check_size(const declared *d, const takt_type *type)
{
    char text[TAKT_TYPE_TEXT];
    if (fits_dense(d, type))
        return true;
    takt_complain(d->f, d->at, TAKT_E_OVERFLOW, NULL,
                  "%s would be %s, more than the %llu MiB that a dense relation may have",
                  d->at->name->text, takt_type_text(d->f->graph->dims, type, text),
                  (unsigned long long)(TAKT_DENSE_LIMIT >> 20));
    return false;
}

/* Facts in ascending order, without duplicates, in the arena of the model being built. */
static bool keep_facts(declared *d, const takt_fact_table *facts)
{
    const size_t arity = (size_t)d->arity;
    uint32_t *all = takt_arena_array(&d->f->e->arena, facts->count + 1, arity * sizeof *all);
    uint32_t *room = takt_arena_array(&d->f->e->arena, facts->count + 1, arity * sizeof *room);
    uint32_t *counts = takt_arena_array(&d->f->e->arena, TAKT_DL_COUNTS, sizeof *counts);
    if (all == NULL || room == NULL || counts == NULL)
        return takt_out_of_memory(d->f).b;
    if (facts->count > 0)
        memcpy(all, facts->tuples, facts->count * arity * sizeof *all);
    (void)takt_dl_sort(&(takt_dl_rows){all, room, counts, facts->count, arity, NULL});
    size_t count = 0;
    for (size_t i = 0; i < facts->count; i++)
        if (count == 0 ||
            memcmp(all + (count - 1) * arity, all + i * arity, arity * sizeof *all) != 0)
            memmove(all + count++ * arity, all + i * arity, arity * sizeof *all);
    d->facts = all;
    d->fact_count = count;
    return true;
}

/* Too large to be dense: the tuples themselves. */
static void from_tuples(declared *d)
{
    takt_frame *f = d->f;
    takt_tensor tensor;
    const takt_type type = {
        .dtype = TAKT_U32, .rank = 2, .dim = {(takt_dim)d->fact_count, d->arity}};
    if (takt_tensor_create(f->e->ctx, &type, &tensor) != TAKT_OK) {
        takt_complain_last(f, d->at);
        return;
    }
    memcpy(takt_tensor_data(&tensor), d->facts, takt_tensor_bytes(&tensor));
    const takt_id id = takt_graph_constant(f->graph, &tensor);
    takt_tensor_release(&tensor);
    if (id == TAKT_NONE)
        takt_complain_last(f, d->at);
    declare(d, id, TAKT_FORM_TUPLES, TAKT_KIND_FACTS);
}

static void from_facts(declared *d, const takt_fact_table *facts)
{
    takt_frame *f = d->f;
    const bool is_soft = facts->weights != NULL;
    takt_type type = d->type;
    takt_tensor tensor;
    const takt_dim last = type.dim[d->arity - 1];
    type.dtype = is_soft ? f->e->rules->truth : TAKT_U64;
    if (!is_soft)
        type.dim[d->arity - 1] = last / 64 + (last % 64 != 0);
    if (!is_soft && !keep_facts(d, facts))
        return;
    if (!is_soft && !fits_dense(d, &type)) {
        from_tuples(d);
        return;
    }
    if (!check_size(d, &type))
        return;
    if (takt_tensor_create(f->e->ctx, &type, &tensor) != TAKT_OK) {
        takt_complain_last(f, d->at);
        return;
    }
    memset(takt_tensor_data(&tensor), 0, takt_tensor_bytes(&tensor));
    if (is_soft)
        fill_weights(d, facts, &tensor);
    else
        fill_bits(d, facts, takt_tensor_data(&tensor));
    const takt_id id = takt_graph_constant(f->graph, &tensor);
    takt_tensor_release(&tensor);
    if (id == TAKT_NONE)
        takt_complain_last(f, d->at);
    else if (f->graph->nodes[id].name == NULL &&
             (f->graph->nodes[id].name = takt_arena_text(&f->graph->arena, d->at->name->text,
                                                         d->at->name->length)) == NULL)
        (void)takt_out_of_memory(f);
    declare(d, id, is_soft ? TAKT_FORM_SOFT : TAKT_FORM_BITS, TAKT_KIND_FACTS);
}

static void read_text(declared *d, const char *file, takt_span text)
{
    const takt_facts_of of = {.name = d->at->name->text,
                              .arity = d->arity,
                              .domains = d->domain,
                              .may_weigh = true,
                              .is_length = is_length(d)};
    takt_fact_table facts;
    if (takt_facts_read(d->f->e->ctx, &of, file, text, &facts) != TAKT_OK)
        takt_complain_last(d->f, d->at->b);
    else
        from_facts(d, &facts);
    takt_facts_release(&facts);
}

static void from_file(declared *d)
{
    takt_frame *f = d->f;
    const takt_parse_files *files = f->e->options->files;
    const char *why = NULL;
    void *bytes;
    size_t length;
    if (files == NULL) {
        takt_complain(f, d->at->b, TAKT_E_IMPORT, NULL,
                      "this text has no folder where files could lie");
        return;
    }
    const char *path = takt_path_beneath(&f->e->arena, f->function->source, d->at->b->text, &why);
    if (why != NULL) {
        takt_complain(f, d->at->b, TAKT_E_IMPORT, NULL, "%s", why);
    } else if (path == NULL) {
        takt_out_of_memory(f);
    } else if (files->text(files->user, path, &bytes, &length) != TAKT_OK) {
        takt_complain_last(f, d->at->b);
    } else {
        read_text(d, path, (takt_span){bytes, length});
        takt_mem_put(f->e->ctx, bytes, length);
    }
}

/* [["ann", "bo"], ...] or [[0, 1], ...]: as lines of a file. */
static void add_field(const takt_ast *item, takt_text *text)
{
    char number[TAKT_VALUE_TEXT];
    const takt_value v = item->kind == TAKT_A_DECIMAL ? takt_value_float(item->number)
                                                      : takt_value_int((int64_t)item->integer);
    if (item->kind == TAKT_A_STRING)
        takt_text_put(text, item->text.at, item->text.length);
    else
        takt_text_add(text, "%s", takt_value_text(NULL, &v, number));
}

static void from_list(declared *d)
{
    takt_text text;
    takt_text_init(&text, d->f->e->ctx);
    bool is_good = true;
    for (const takt_ast *row = d->at->b->a; row != NULL && is_good; row = row->next) {
        const bool is_list = row->kind == TAKT_A_LIST;
        for (const takt_ast *i = is_list ? row->a : row; i != NULL && is_good;
             i = is_list ? i->next : NULL) {
            const bool is_plain = i->kind == TAKT_A_STRING &&
                                  memchr(i->text.at, '\n', i->text.length) == NULL &&
                                  memchr(i->text.at, '\t', i->text.length) == NULL;
            is_good = is_plain || i->kind == TAKT_A_INTEGER || i->kind == TAKT_A_DECIMAL;
            if (!is_good)
                takt_complain(d->f, i, TAKT_E_RULE, "[[\"ann\", \"bo\"], [\"bo\", \"cy\"]]",
                              "facts are lists of names and numbers");
            if (is_good && is_list && i != row->a)
                takt_text_put(&text, "\t", 1);
            if (is_good)
                add_field(i, &text);
        }
        takt_text_put(&text, "\n", 1);
    }
    if (text.status != TAKT_OK)
        takt_out_of_memory(d->f);
    else if (is_good)
        read_text(d, d->at->name->text, (takt_span){takt_text_get(&text), text.length});
    takt_text_deinit(&text);
}

/* ---- inputs and tensors ---- */

static void from_input(declared *d)
{
    takt_frame *f = d->f;
    const takt_dtype own = f->e->rules->semantics->dtype;
    const bool is_soft = own != TAKT_BOOL;
    takt_type type = d->type;
    if (f->caller != NULL) {
        takt_complain(f, d->at, TAKT_E_RULE, "give it facts, or hand a tensor to the layer",
                      "a relation without facts is an input, and layers have none");
        return;
    }
    type.dtype = own == TAKT_F32 ? f->e->rules->truth : own;
    const takt_id id = takt_graph_input(f->graph, d->at->name->text, &type);
    if (id == TAKT_NONE)
        takt_complain_last(f, d->at);
    declare(d, id, is_soft ? TAKT_FORM_SOFT : TAKT_FORM_BOOL, TAKT_KIND_INPUT);
}

static void from_tensor(declared *d)
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
    declare(d, v.id, is_bool ? TAKT_FORM_BOOL : TAKT_FORM_SOFT, TAKT_KIND_TENSOR);
}

void takt_eval_relation(takt_frame *f, const takt_ast *a)
{
    declared d = {.f = f, .at = a};
    takt_frame_set(f, a->name, takt_value_poison());
    if (!read_domains(&d))
        return;
    takt_graph_set_origin(f->graph, a->name->text, (int)a->line);
    if (a->c != NULL)
        takt_complain(f, a->c, TAKT_E_RULE, NULL, "a relation has no option called %s",
                      a->c->name->text);
    else if (a->b == NULL)
        from_input(&d);
    else if (a->b->kind == TAKT_A_STRING)
        from_file(&d);
    else if (a->b->kind == TAKT_A_LIST)
        from_list(&d);
    else
        from_tensor(&d);
}
