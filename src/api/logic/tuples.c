/* tuples.c - the contents of a relation's tensor, as tuples. */
#include <math.h>
#include <string.h>

#include "api/logic/logic.h"
#include "base/mem.h"

takt_status takt_logic_check(const takt_model *model, const takt_relation_info *r,
                             const takt_tensor_view *view)
{
    const bool is_value = r->form == TAKT_FORM_VALUE;
    if (r->form == TAKT_FORM_TUPLES && view->data != NULL && view->dtype == TAKT_U32 &&
        view->rank == 2 && view->dims[1] == r->arity)
        return TAKT_OK;
    bool fits =
        r->form != TAKT_FORM_TUPLES && view->data != NULL && view->rank == r->arity - is_value;
    for (int i = 0; fits && i < view->rank; i++) {
        takt_dim size = r->arg[i].size;
        if (r->form == TAKT_FORM_BITS && i == view->rank - 1 && takt_dim_is_number(size))
            size = size / 64 + (size % 64 != 0);
        fits = !takt_dim_is_number(size) || view->dims[i] == size;
    }
    const bool is_bits = r->form == TAKT_FORM_BITS, is_bool = r->form == TAKT_FORM_BOOL;
    if (fits && is_bits == (view->dtype == TAKT_U64) && is_bool == (view->dtype == TAKT_BOOL))
        return TAKT_OK;
    return takt_fail(model->ctx, TAKT_E_BINDING, "the view is not the tensor of %s", r->name);
}

static takt_status refuse(const takt_model *model, const takt_relation_info *r, int64_t row,
                          int column, uint32_t value)
{
    const takt_var_range *of = &r->arg[column];
    return takt_fail(model->ctx, TAKT_E_FACTS,
                     "%s: row %lld, column %d is %lu, and domain %s has %lld", r->name,
                     (long long)row, column, (unsigned long)value,
                     of->domain != NULL ? of->domain->name : "of the column", (long long)of->size);
}

takt_status takt_relation_check(const takt_model *model, const char *relation,
                                const takt_tensor_view *view)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, relation);
    TAKT_NEED(NULL, view);
    const takt_relation_info *r = takt_logic_find(model, relation);
    if (r == NULL)
        return TAKT_ERR_NOT_FOUND;
    TAKT_TRY(takt_logic_check(model, r, view));
    if (r->form != TAKT_FORM_TUPLES || view->dtype != TAKT_U32)
        return TAKT_OK;
    const uint32_t *at = view->data;
    for (int64_t row = 0; row < view->dims[0]; row++, at += r->arity) {
        bool is_none = true; /* empty rows are all ones */
        for (int i = 0; i < r->arity; i++)
            is_none = is_none && at[i] == UINT32_MAX;
        for (int i = 0; i < r->arity && !is_none; i++)
            if (r->arg[i].is_known && takt_dim_is_number(r->arg[i].size) &&
                (int64_t)at[i] >= r->arg[i].size)
                return refuse(model, r, row, i, at[i]);
    }
    return TAKT_OK;
}

void takt_tuple_begin(takt_tuple_walk *w, const takt_relation_info *r, const takt_tensor_view *view)
{
    *w = (takt_tuple_walk){.relation = r, .view = view, .count = 1};
    for (int i = 0; i < view->rank; i++)
        w->count *= (size_t)view->dims[i];
    if (r->form == TAKT_FORM_BITS)
        w->count *= 64;
    if (r->form == TAKT_FORM_TUPLES)
        w->count = (size_t)view->dims[0];
    w->has_value = r->form == TAKT_FORM_SOFT || r->form == TAKT_FORM_VALUE;
}

/* The value of element `at`; whether it is a tuple of the relation. */
static bool is_there(takt_tuple_walk *w, size_t at)
{
    const takt_tensor_view *v = w->view;
    w->value = 1;
    if (w->relation->form == TAKT_FORM_BITS)
        return (((const uint64_t *)v->data)[at / 64] >> at % 64 & 1) != 0;
    w->value = takt_dtype_is_float(v->dtype) ? takt_dtype_get_f(v->dtype, v->data, at)
                                             : (double)takt_dtype_get_i(v->dtype, v->data, at);
    if (w->relation->form == TAKT_FORM_VALUE)
        return true;
    const takt_predicate *p = w->relation->predicate;
    const takt_semantics *s = p->semantics != NULL ? p->semantics : p->missing;
    return w->value != (s != NULL ? s->none : 0);
}

static void set_entries(takt_tuple_walk *w, size_t at)
{
    const takt_tensor_view *v = w->view;
    for (int i = v->rank - 1; i >= 0; i--) {
        size_t size = (size_t)v->dims[i];
        if (w->relation->form == TAKT_FORM_BITS && i == v->rank - 1)
            size *= 64;
        w->entry[i] = (uint32_t)(at % size);
        at /= size;
    }
}

/* The next row of a set, unless it is past the last. Rows bound by a caller may be empty
 * anywhere. */
static bool next_row(takt_tuple_walk *w)
{
    const size_t arity = (size_t)w->relation->arity;
    const uint32_t *row = (const uint32_t *)w->view->data + w->at * arity;
    for (; w->at < w->count && row[0] == UINT32_MAX; row += arity)
        w->at++;
    if (w->at == w->count)
        return false;
    memcpy(w->entry, row, arity * sizeof *row);
    w->value = 1;
    w->at++;
    return true;
}

bool takt_tuple_next(takt_tuple_walk *w)
{
    if (w->relation->form == TAKT_FORM_TUPLES)
        return next_row(w);
    const bool is_bits = w->relation->form == TAKT_FORM_BITS;
    while (w->at < w->count) {
        if (is_bits && w->at % 64 == 0 && ((const uint64_t *)w->view->data)[w->at / 64] == 0) {
            w->at += 64;
            continue;
        }
        const size_t at = w->at++;
        if (!is_there(w, at))
            continue;
        set_entries(w, at);
        return true;
    }
    return false;
}

takt_status takt_relation_tuples(const takt_model *model, const char *relation,
                                 const takt_tensor_view *view, takt_tuples *tuples)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, relation);
    TAKT_NEED(NULL, tuples);
    takt_tuple_walk w;
    void *entries, *values = NULL;
    memset(tuples, 0, sizeof *tuples);
    const takt_relation_info *r = takt_logic_find(model, relation);
    if (r == NULL)
        return TAKT_ERR_NOT_FOUND;
    TAKT_TRY(takt_logic_check(model, r, view));
    size_t count = 0;
    for (takt_tuple_begin(&w, r, view); takt_tuple_next(&w);)
        count++;
    const size_t arity = (size_t)r->arity;
    TAKT_TRY(takt_mem_zero(model->ctx, count, (arity > 0 ? arity : 1) * sizeof *tuples->entries,
                           "tuples", &entries));
    tuples->entries = entries;
    tuples->count = count;
    tuples->arity = r->arity;
    if (w.has_value) {
        const takt_status status =
            takt_mem_zero(model->ctx, count, sizeof *tuples->values, "tuples", &values);
        tuples->values = values;
        if (status != TAKT_OK) {
            takt_tuples_free(model->ctx, tuples);
            return status;
        }
    }
    count = 0;
    for (takt_tuple_begin(&w, r, view); takt_tuple_next(&w); count++) {
        memcpy(tuples->entries + count * arity, w.entry, arity * sizeof *tuples->entries);
        if (tuples->values != NULL)
            tuples->values[count] = w.value;
    }
    return TAKT_OK;
}

void takt_tuples_free(takt_ctx *ctx, takt_tuples *tuples)
{
    if (tuples == NULL)
        return;
    const size_t arity = tuples->arity > 0 ? (size_t)tuples->arity : 1;
    takt_mem_put(ctx, tuples->entries, tuples->count * arity * sizeof *tuples->entries);
    takt_mem_put(ctx, tuples->values, tuples->count * sizeof *tuples->values);
    memset(tuples, 0, sizeof *tuples);
}
