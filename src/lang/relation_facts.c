/* relation_facts.c - facts of a relation, as bits, weights or tuples. */
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "lang/relation.h"
#include "logic/facts.h"
#include "op/util/datalog.h"

/* Element number of a tuple in the dense tensor. */
static size_t place_of(const takt_declared *d, const uint32_t *tuple)
{
    size_t at = 0;
    for (int i = 0; i < d->arity; i++)
        at = at * (size_t)d->type.dim[i] + tuple[i];
    return at;
}

static void fill_bits(const takt_declared *d, const takt_fact_table *facts, uint64_t *words)
{
    const size_t last = (size_t)d->type.dim[d->arity - 1], row = last / 64 + (last % 64 != 0);
    for (size_t i = 0; i < facts->count; i++) {
        const uint32_t *t = facts->tuples + i * (size_t)d->arity;
        const size_t line = place_of(d, t) / last, column = t[d->arity - 1];
        words[line * row + column / 64] |= UINT64_C(1) << column % 64;
    }
}

/* Weights are path lengths: a missing fact has infinite length. */
static bool is_length(const takt_declared *d)
{
    return d->f->e->rules->semantics->none != 0;
}

/* A duplicate fact counts once: with its larger weight, or its lesser length. */
static void fill_weights(const takt_declared *d, const takt_fact_table *facts, takt_tensor *to)
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

static bool fits_dense(const takt_declared *d, const takt_type *type)
{
    size_t bytes;
    const uint64_t most = d->f->e->ctx->limits.tensor_bytes;
    return takt_type_bytes(type, &bytes) && bytes <= most &&
           (d->stated == TAKT_STATED_DENSE || bytes <= takt_rules_dense_limit(d->f));
}

static bool check_size(const takt_declared *d, const takt_type *type)
{
    char text[TAKT_TYPE_TEXT];
    if (fits_dense(d, type))
        return true;
    const uint64_t own = d->f->e->ctx->limits.tensor_bytes, given = takt_rules_dense_limit(d->f);
    const bool is_own = d->stated == TAKT_STATED_DENSE || own < given;
    takt_complain(d->f, d->at, TAKT_E_OVERFLOW,
                  is_own ? NULL : "--dense-limit and the word dense allow more",
                  "%s would be %s, more than the %.4g MiB that a %s may have", d->at->name->text,
                  takt_type_text(d->f->graph->dims, type, text),
                  (double)(is_own ? own : given) / (1 << 20), is_own ? "tensor" : "dense relation");
    return false;
}

/* Ascending order, without duplicates. */
static bool sort_facts(const takt_declared *d, takt_fact_table *facts)
{
    takt_ctx *ctx = d->f->e->ctx;
    const size_t arity = (size_t)d->arity, values = facts->count * arity;
    void *room;
    if (takt_dl_ascends(facts->tuples, facts->count, arity))
        return true; /* many files are sorted, and then need no room */
    if (takt_mem_get(ctx, (values + TAKT_DL_COUNTS) * sizeof *facts->tuples, "facts", &room) !=
        TAKT_OK)
        return takt_out_of_memory(d->f).b;
    facts->count = takt_dl_sort_unique(
        &(takt_dl_rows){facts->tuples, room, (uint32_t *)room + values, facts->count, arity, NULL});
    takt_mem_put(ctx, room, (values + TAKT_DL_COUNTS) * sizeof *facts->tuples);
    return true;
}

/* Sorted facts, in the arena of the model being built. */
static bool keep_facts(takt_declared *d, const takt_fact_table *facts)
{
    const size_t bytes = (size_t)d->arity * sizeof *facts->tuples;
    uint32_t *all = takt_arena_array(&d->f->e->arena, facts->count + 1, bytes);
    if (all == NULL)
        return takt_out_of_memory(d->f).b;
    if (facts->count > 0)
        memcpy(all, facts->tuples, facts->count * bytes);
    d->facts = all;
    d->fact_count = facts->count;
    return true;
}

/* Sparse, or too large to be dense: the tuples themselves, which the graph keeps. */
static void from_tuples(takt_declared *d, const takt_fact_table *facts)
{
    takt_frame *f = d->f;
    takt_tensor tensor;
    const takt_type type = {
        .dtype = TAKT_U32, .rank = 2, .dim = {(takt_dim)facts->count, d->arity}};
    if (takt_tensor_create(f->e->ctx, &type, &tensor) != TAKT_OK) {
        takt_complain_last(f, d->at);
        return;
    }
    if (facts->count > 0)
        memcpy(takt_tensor_data(&tensor), facts->tuples, takt_tensor_bytes(&tensor));
    const takt_id id = takt_graph_constant(f->graph, &tensor);
    takt_tensor_release(&tensor);
    if (id == TAKT_NONE)
        takt_complain_last(f, d->at);
    else
        d->facts = takt_tensor_data(f->graph->nodes[id].attr[0].tensor);
    d->fact_count = facts->count;
    takt_relation_declare(d, id, TAKT_FORM_TUPLES, TAKT_KIND_FACTS);
}

static void declare(takt_declared *d, takt_fact_table *facts)
{
    takt_frame *f = d->f;
    const bool is_soft = facts->weights != NULL, is_sparse = d->stated == TAKT_STATED_SPARSE;
    takt_type type = d->type;
    takt_tensor tensor;
    const takt_dim last = type.dim[d->arity - 1];
    type.dtype = is_soft ? f->e->rules->truth : TAKT_U64;
    if (!is_soft)
        type.dim[d->arity - 1] = last / 64 + (last % 64 != 0);
    if (is_soft && is_sparse) {
        takt_complain(f, d->at, TAKT_E_RULE, "leave out sparse, or the weights",
                      "%s has weights, and a set of tuples has none", d->at->name->text);
        return;
    }
    if (!is_soft && !sort_facts(d, facts))
        return;
    if (!is_soft && (is_sparse || (d->stated != TAKT_STATED_DENSE && !fits_dense(d, &type)))) {
        from_tuples(d, facts);
        return;
    }
    if (!check_size(d, &type) || (!is_soft && !keep_facts(d, facts)))
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
    takt_relation_declare(d, id, is_soft ? TAKT_FORM_SOFT : TAKT_FORM_BITS, TAKT_KIND_FACTS);
}

/* Releases the facts. */
static void from_facts(takt_declared *d, takt_fact_table *facts)
{
    declare(d, facts);
    takt_facts_release(facts);
}

/* After a complaint there is nothing to release. */
static bool read_text(const takt_declared *d, const char *file, takt_span text,
                      takt_fact_table *facts)
{
    const takt_facts_of of = {.name = d->at->name->text,
                              .arity = d->arity,
                              .domains = d->domain,
                              .may_weigh = true,
                              .is_length = is_length(d)};
    if (takt_facts_read(d->f->e->ctx, &of, file, text, facts) == TAKT_OK)
        return true;
    takt_complain_last(d->f, d->at->b);
    takt_facts_release(facts);
    return false;
}

void takt_relation_from_file(takt_declared *d)
{
    takt_frame *f = d->f;
    const takt_parse_files *files = f->e->options->files;
    const char *why = NULL;
    takt_fact_table facts;
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
        const bool is_read = read_text(d, path, (takt_span){bytes, length}, &facts);
        takt_mem_put(f->e->ctx, bytes, length);
        if (is_read)
            from_facts(d, &facts);
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

void takt_relation_from_list(takt_declared *d)
{
    takt_text text;
    takt_fact_table facts;
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
        is_good =
            read_text(d, d->at->name->text, (takt_span){takt_text_get(&text), text.length}, &facts);
    is_good = is_good && text.status == TAKT_OK;
    takt_text_deinit(&text);
    if (is_good)
        from_facts(d, &facts);
}
