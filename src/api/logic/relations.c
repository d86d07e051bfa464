/* relations.c - the relations of a model, and their facts. */
#include <string.h>

#include <takt/array.h>

#include "api/logic/logic.h"
#include "base/mem.h"
#include "base/near.h"
#include "io/file.h"
#include "logic/facts.h"
#include "op/util/datalog.h"

const takt_relation_info *takt_logic_find(const takt_model *model, const char *name)
{
    const takt_relation_info *r = takt_relation_find(model->graph, name);
    if (r != NULL)
        return r;
    takt_nearest near = takt_nearest_to(name);
    const takt_relations *all = model->graph->relations;
    for (r = all != NULL ? all->first : NULL; r != NULL; r = r->next)
        takt_nearest_try(&near, r->name);
    takt_fail(model->ctx, TAKT_E_NAME, "the model has no relation called %s", name);
    if (near.best != NULL)
        takt_fail_hint(model->ctx, "did you mean %s?", near.best);
    else if (all == NULL || all->first == NULL)
        takt_fail_hint(model->ctx, "relations are known for models read from their texts");
    else
        takt_fail_hint(model->ctx, "it has %zu, the first is %s; `takt query MODEL` lists them",
                       all->count, all->first->name);
    return NULL;
}

size_t takt_model_relation_count(const takt_model *model)
{
    if (model == NULL)
        return 0;
    return model->graph->relations != NULL ? model->graph->relations->count : 0;
}

takt_status takt_model_relation(const takt_model *model, size_t index, takt_relation *relation)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, relation);
    static const char *const kinds[] = {[TAKT_KIND_FACTS] = "facts",
                                        [TAKT_KIND_INPUT] = "input",
                                        [TAKT_KIND_TENSOR] = "tensor",
                                        [TAKT_KIND_RULE] = "rule",
                                        [TAKT_KIND_CONSTRAINT] = "constraint"};
    const takt_relations *all = model->graph->relations;
    const takt_relation_info *r = all != NULL ? all->first : NULL;
    memset(relation, 0, sizeof *relation);
    for (size_t i = 0; r != NULL && i < index; i++)
        r = r->next;
    if (r == NULL)
        return takt_fail(model->ctx, TAKT_E_NAME, "the model has %zu relations, not %zu",
                         takt_model_relation_count(model), index + 1);
    *relation = (takt_relation){.name = r->name,
                                .kind = kinds[r->kind],
                                .semantics = r->semantics,
                                .form = (takt_relation_form)r->form,
                                .arity = r->arity,
                                .rule_count = r->rule_count,
                                .stratum = r->stratum,
                                .is_recursive = r->is_recursive,
                                .joins = r->joins,
                                .weight = r->weight};
    for (int i = 0; i < r->arity; i++) {
        const bool is_number = !r->arg[i].is_known || !takt_dim_is_number(r->arg[i].size);
        relation->domains[i] = r->arg[i].domain != NULL ? r->arg[i].domain->name : NULL;
        relation->sizes[i] = is_number ? -1 : r->arg[i].size;
    }
    return TAKT_OK;
}

const char *takt_relation_entry(const takt_model *model, const char *relation, int argument,
                                uint32_t entry, size_t *length)
{
    if (model == NULL)
        return NULL;
    if (length == NULL)
        return NULL;
    const takt_relation_info *r = takt_relation_find(model->graph, relation);
    *length = 0;
    if (r == NULL || argument < 0 || argument >= (r->arity > 0 ? r->arity : r->each_arity))
        return NULL;
    const takt_domain *d = (r->arity > 0 ? r->arg : r->each_arg)[argument].domain;
    if (d == NULL || d->entries == NULL || (takt_dim)entry >= d->size)
        return NULL;
    *length = d->entries[entry].length;
    return d->entries[entry].at;
}

/* ---- facts in ---- */

static void fill(const takt_fact_table *facts, const takt_semantics *s,
                 const takt_tensor_view *view)
{
    size_t count = s != NULL && s->none != 0;
    for (int d = 0; d < view->rank; d++)
        count *= (size_t)view->dims[d];
    for (size_t i = 0; i < count; i++)
        takt_dtype_put_f(view->dtype, view->data, i, s->none);
    for (size_t i = 0; i < facts->count; i++) {
        const uint32_t *t = facts->tuples + i * (size_t)facts->arity;
        size_t at = 0;
        for (int d = 0; d < facts->arity; d++)
            at = at * (size_t)view->dims[d] + t[d];
        if (view->dtype == TAKT_BOOL)
            ((uint8_t *)view->data)[at] = 1;
        else if (view->dtype == TAKT_I64)
            ((int64_t *)view->data)[at] = 1;
        else
            takt_dtype_put_f(view->dtype, view->data, at,
                             facts->weights != NULL ? facts->weights[i]
                             : s != NULL            ? s->all
                                                    : 1);
    }
}

/* Fills an input of tuples: in ascending order, then empty rows. */
static takt_status fill_tuples(takt_ctx *ctx, const takt_fact_table *facts,
                               const takt_relation_info *r, takt_tensor_view *view)
{
    const size_t arity = (size_t)r->arity, bytes = facts->count * arity * sizeof(uint32_t);
    void *block = NULL;
    uint32_t *const to = view->data;
    TAKT_TRY(takt_mem_get(ctx, 2 * bytes + TAKT_DL_COUNTS * sizeof *to, "tuples", &block));
    uint32_t *counts = block, *all = counts + TAKT_DL_COUNTS, *room = all + facts->count * arity;
    if (bytes > 0)
        memcpy(all, facts->tuples, bytes);
    const takt_dl_rows rows = {all, room, counts, facts->count, arity, NULL};
    const size_t count = takt_dl_sort_unique(&rows), most = (size_t)view->dims[0];
    if (count <= most) {
        memset(to, 0xff, most * arity * sizeof *to);
        if (count > 0)
            memcpy(to, all, count * arity * sizeof *to);
    }
    takt_mem_put(ctx, block, 2 * bytes + TAKT_DL_COUNTS * sizeof *to);
    return count <= most ? TAKT_OK
                         : takt_fail(ctx, TAKT_E_RECURSION,
                                     "%s has room for %zu tuples, and there are %zu: try "
                                     "capacity=%zu",
                                     r->name, most, count, count);
}

takt_status takt_relation_read(const takt_model *model, const char *relation, const char *name,
                               const char *text, size_t length, takt_tensor_view *view)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, relation);
    TAKT_NEED(NULL, view);
    const takt_domain *domains[TAKT_MAX_RANK];
    takt_fact_table facts;
    memset(view, 0, sizeof *view);
    const takt_relation_info *r = takt_logic_find(model, relation);
    if (r == NULL)
        return TAKT_ERR_NOT_FOUND;
    if (r->kind != TAKT_KIND_INPUT)
        return takt_fail(model->ctx, TAKT_E_NAME, "%s is not an input: it has its facts already",
                         relation);
    const bool is_sparse = r->form == TAKT_FORM_TUPLES;
    for (int i = 0; i < r->arity; i++)
        domains[i] = r->arg[i].domain;
    view->dtype = r->type.dtype;
    view->rank = r->type.rank;
    for (int i = 0; i < view->rank; i++)
        view->dims[i] = is_sparse ? r->type.dim[i] : r->arg[i].size;
    const takt_semantics *missing = r->predicate->missing;
    const takt_facts_of of = {.name = relation,
                              .arity = r->arity,
                              .domains = domains,
                              .may_weigh = takt_dtype_is_float(view->dtype),
                              .is_length = missing != NULL && missing->none != 0};
    takt_status status = takt_facts_read(model->ctx, &of, name != NULL ? name : relation,
                                         (takt_span){text, length}, &facts);
    if (status == TAKT_OK)
        status = takt_view_alloc(model->ctx, view);
    if (status == TAKT_OK && is_sparse)
        status = fill_tuples(model->ctx, &facts, r, view);
    else if (status == TAKT_OK)
        fill(&facts, missing, view);
    takt_facts_release(&facts);
    if (status != TAKT_OK)
        takt_view_free(model->ctx, view);
    return status;
}

takt_status takt_relation_load(const takt_model *model, const char *relation, const char *path,
                               takt_tensor_view *view)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, relation);
    TAKT_NEED(NULL, path);
    TAKT_NEED(NULL, view);
    void *bytes;
    size_t length;
    memset(view, 0, sizeof *view);
    TAKT_TRY(takt_read_file(model->ctx, path, &bytes, &length));
    const takt_status status = takt_relation_read(model, relation, path, bytes, length, view);
    takt_mem_put(model->ctx, bytes, length);
    return status;
}

/* ---- facts out ---- */

static int collect(void *user, const char *text, size_t length)
{
    takt_text_put(user, text, length);
    return 0;
}

takt_status takt_relation_save(const takt_model *model, const char *relation,
                               const takt_tensor_view *view, const char *path)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, relation);
    takt_text text;
    takt_text_init(&text, model->ctx);
    takt_status status = takt_query(model, relation, view, NULL, collect, &text);
    if (status == TAKT_OK)
        status = takt_write_text(model->ctx, path, &text);
    takt_text_deinit(&text);
    return status;
}
