/* constraints.c - which tuples break the constraints of a model. */
#include <string.h>

#include "api/logic/logic.h"
#include "base/mem.h"
#include "base/report.h"
#include "ir/name.h"

static const takt_relation_info *first_of(const takt_model *model)
{
    return model->graph->relations != NULL ? model->graph->relations->first : NULL;
}

/* Whether it has tuples, and no constraint before it has the same: a value is an output once. */
static bool adds_tuples(const takt_model *model, const takt_relation_info *of)
{
    for (const takt_relation_info *c = first_of(model); c != of; c = c->next)
        if (c->kind == TAKT_KIND_CONSTRAINT && c->each_arity > 0 && c->each == of->each)
            return false;
    return of->each_arity > 0;
}

takt_status takt_constraint_outputs(const takt_model *model, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(model->ctx, sink);
    takt_name_table names;
    takt_report r;
    size_t count = 0;
    TAKT_TRY(takt_name_table_init(&names, model->graph));
    takt_report_begin(&r, model->ctx, TAKT_FORMAT_TEXT);
    for (const takt_relation_info *c = first_of(model); c != NULL; c = c->next) {
        if (c->kind != TAKT_KIND_CONSTRAINT)
            continue;
        takt_text_add(&r.text, "%s%s", count++ > 0 ? "," : "", c->name);
        if (adds_tuples(model, c))
            takt_text_add(&r.text, ",%s", names.of[c->each]);
    }
    takt_name_table_deinit(&names);
    return takt_report_end(&r, TAKT_OK, sink, user);
}

/* The view of the tuples' truth: outputs are those of takt_constraint_outputs. */
static takt_status find_view(const takt_model *model, const takt_relation_info *of,
                             takt_session *session, const takt_tensor_view **view)
{
    size_t at = 0, count = 0;
    for (const takt_relation_info *c = first_of(model); c != NULL; c = c->next) {
        if (c->kind != TAKT_KIND_CONSTRAINT)
            continue;
        count++;
        if (!adds_tuples(model, c))
            continue;
        at = c->each == of->each ? count : at;
        count++;
    }
    *view = takt_session_output_count(session) == count ? takt_session_output(session, at) : NULL;
    if (*view != NULL && (*view)->rank == of->each_arity &&
        ((*view)->dtype == TAKT_BOOL || takt_dtype_is_float((*view)->dtype)))
        return TAKT_OK;
    return takt_fail(model->ctx, TAKT_E_BINDING,
                     "the session has no outputs of takt_constraint_outputs");
}

static double truth_at(const takt_tensor_view *v, size_t at)
{
    if (v->dtype == TAKT_BOOL)
        return ((const unsigned char *)v->data)[at] != 0;
    return takt_dtype_get_f(v->dtype, v->data, at);
}

static size_t size_of(const takt_tensor_view *v)
{
    size_t count = 1;
    for (int i = 0; i < v->rank; i++)
        count *= (size_t)v->dims[i];
    return count;
}

static void fill(const takt_tensor_view *v, takt_tuples *tuples)
{
    size_t found = 0;
    for (size_t i = 0; found < tuples->count; i++) {
        const double truth = truth_at(v, i);
        if (truth >= 0.5)
            continue;
        size_t left = i;
        for (int k = v->rank - 1; k >= 0; k--) {
            tuples->entries[found * (size_t)v->rank + (size_t)k] =
                (uint32_t)(left % (size_t)v->dims[k]);
            left /= (size_t)v->dims[k];
        }
        tuples->values[found++] = truth;
    }
}

takt_status takt_constraint_broken(const takt_model *model, const char *constraint,
                                   takt_session *session, size_t limit, takt_tuples *tuples)
{
    TAKT_NEED(NULL, model);
    TAKT_NEED(NULL, constraint);
    TAKT_NEED(NULL, session);
    TAKT_NEED(NULL, tuples);
    const takt_tensor_view *v;
    void *entries = NULL, *values = NULL;
    memset(tuples, 0, sizeof *tuples);
    const takt_relation_info *r = takt_logic_find(model, constraint);
    if (r == NULL)
        return TAKT_ERR_NOT_FOUND;
    if (r->each_arity == 0)
        return TAKT_OK;
    TAKT_TRY(find_view(model, r, session, &v));
    const size_t all = size_of(v), arity = (size_t)r->each_arity;
    size_t count = 0;
    for (size_t i = 0; i < all && (limit == 0 || count < limit); i++)
        count += !(truth_at(v, i) >= 0.5);
    tuples->arity = r->each_arity;
    if (count == 0)
        return TAKT_OK;
    takt_status status =
        takt_mem_zero(model->ctx, count * arity, sizeof(uint32_t), "tuples", &entries);
    if (status == TAKT_OK)
        status = takt_mem_zero(model->ctx, count, sizeof(double), "tuples", &values);
    tuples->entries = entries;
    tuples->values = values;
    tuples->count = count;
    if (status != TAKT_OK) {
        takt_mem_put(model->ctx, entries, entries != NULL ? count * arity * sizeof(uint32_t) : 0);
        memset(tuples, 0, sizeof *tuples);
        return status;
    }
    fill(v, tuples);
    return TAKT_OK;
}
