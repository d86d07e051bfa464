/* batch.c - batches: their sizes, a session for them, and the rows of a shard. */
#include <string.h>

#include "api/session/session.h"
#include "api/train/trainer.h"

const takt_named_view *takt_batch_find(const takt_named_view *batch, size_t count, const char *name,
                                       size_t place)
{
    for (size_t i = 0; i < count; i++)
        if (batch[i].name != NULL ? strcmp(batch[i].name, name) == 0 : i == place)
            return &batch[i];
    return NULL;
}

/* The name of the dimension that counts samples; NULL: the model has a fixed batch. */
static const char *batch_name(const takt_trainer *t)
{
    for (size_t i = 0; i < t->model->graph->input_count; i++)
        if (t->model->inputs[i].rank > 0)
            return t->model->inputs[i].dim_names[0];
    return NULL;
}

int64_t takt_batch_fixed(const takt_trainer *t)
{
    for (size_t i = 0; i < t->model->graph->input_count; i++)
        if (t->model->inputs[i].rank > 0)
            return t->model->inputs[i].dim_names[0] == NULL ? t->model->inputs[i].dims[0] : 0;
    return 0;
}

/* A model with a fixed batch takes that many samples at a time: every part is a shard. */
static takt_status check_parts(const takt_trainer *t, int64_t samples)
{
    const int64_t fixed = takt_batch_fixed(t);
    if (fixed <= 0 || (samples % fixed == 0 && samples / fixed <= t->shards))
        return TAKT_OK;
    takt_fail(t->ctx, TAKT_E_TRAIN_BATCH,
              "the model takes %lld samples at a time: %lld are not %s%lld times as many",
              (long long)fixed, (long long)samples, t->shards > 1 ? "up to " : "",
              (long long)t->shards);
    return takt_fail_hint(t->ctx, "shards is how many parts of that size make a step");
}

takt_status takt_batch_samples(const takt_trainer *t, const takt_named_view *batch, size_t count,
                               int64_t *samples)
{
    *samples = 1;
    for (size_t i = 0; i < t->model->graph->input_count; i++) {
        if (t->model->inputs[i].rank == 0)
            continue;
        const takt_named_view *v = takt_batch_find(batch, count, t->model->inputs[i].name, i);
        if (v == NULL)
            return takt_fail(t->ctx, TAKT_E_BINDING, "the batch has no %s",
                             t->model->inputs[i].name);
        if (v->view.rank < 1)
            return takt_fail(t->ctx, TAKT_E_BINDING, "%s: a batch has a first axis of samples",
                             t->model->inputs[i].name);
        *samples = v->view.dims[0];
        break;
    }
    return check_parts(t, *samples);
}

bool takt_batch_is_cut(const takt_trainer *t, const takt_desc *desc)
{
    const char *name = batch_name(t);
    if (name == NULL && desc->rank > 0)
        return desc->dim_names[0] == NULL && desc->dims[0] == takt_batch_fixed(t);
    return desc->rank > 0 && name != NULL && desc->dim_names[0] != NULL &&
           strcmp(desc->dim_names[0], name) == 0;
}

static takt_tensor_view cut(const takt_trainer *t, const takt_desc *desc,
                            const takt_tensor_view *whole, takt_rows rows)
{
    takt_tensor_view v = *whole;
    if (rows.rows == 0 || !takt_batch_is_cut(t, desc) || v.rank < 1 || v.dims[0] == rows.rows)
        return v;
    int64_t step = 1;
    for (int d = 1; d < v.rank; d++)
        step *= v.dims[d];
    if (!takt_view_is_dense(whole))
        step = v.strides[0];
    v.dims[0] = rows.rows;
    if (v.data != NULL)
        v.data = (char *)v.data + rows.first * step * takt_dtype_bits(v.dtype) / 8;
    return v;
}

static bool is_plain(const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (strchr("+-*/%() ,", *c) != NULL)
            return false;
    return true;
}

/* Whether "batch=64,seq=16" has a size of this name. */
static bool has_size(const char *sizes, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = sizes; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return true;
    }
    return false;
}

takt_status takt_batch_sizes(const takt_trainer *t, const takt_model *model,
                             const takt_named_view *batch, size_t count, takt_rows rows,
                             takt_text *sizes)
{
    if (t->plan.sizes != NULL)
        takt_text_add(sizes, "%s", t->plan.sizes);
    for (size_t i = 0; i < model->graph->input_count; i++) {
        const takt_desc *desc = &model->inputs[i];
        const takt_named_view *v = takt_batch_find(batch, count, desc->name, i);
        if (v == NULL || v->view.rank != desc->rank)
            continue;
        for (int d = 0; d < desc->rank; d++) {
            const char *name = desc->dim_names[d];
            const takt_tensor_view part = cut(t, desc, &v->view, rows);
            if (name != NULL && is_plain(name) && !has_size(takt_text_get(sizes), name))
                takt_text_add(sizes, "%s%s=%lld", sizes->length > 0 ? "," : "", name,
                              (long long)part.dims[d]);
        }
    }
    return sizes->status;
}

/* A session for these sizes; its state stays. Plans of evaluations have weights as constants, which
 * the next step changes: they are not kept in the context's cache. */
static takt_status resize(takt_trainer *t, takt_train_run *run, const char *sizes)
{
    takt_plan_options o = t->plan;
    takt_plan *plan;
    const bool is_step = run == &t->step;
    if (run->session != NULL && strcmp(takt_text_get(&run->sizes), sizes) == 0)
        return TAKT_OK;
    if (is_step) {
        takt_timed_forget(t);
    } else {
        takt_session_destroy(run->session);
        run->session = NULL;
    }
    if (run->session != NULL) {
        TAKT_TRY(takt_session_reshape(run->session, run->model, sizes));
    } else {
        o.sizes = sizes;
        TAKT_TRY(is_step ? takt_plan_get(run->model, &o, &plan)
                         : takt_plan_create(run->model, &o, &plan));
        const takt_status status = takt_session_create(plan, NULL, &run->session);
        takt_plan_destroy(plan);
        TAKT_TRY(status);
    }
    if (is_step && t->takes_weights)
        takt_train_let_go(t);
    run->sizes.length = 0;
    takt_text_add(&run->sizes, "%s", sizes);
    return run->sizes.status;
}

/* Memory for the scalars of a step, which the trainer writes. */
static takt_status own_scalars(takt_trainer *t, takt_train_run *run)
{
    const takt_graph *g = run->session->plan->graph;
    for (size_t i = 0; i < g->input_count; i++)
        if (strncmp(g->inputs[i].name, "train.", 6) == 0 &&
            takt_session_own(run->session, TAKT_PLACE_INPUT, i) != TAKT_OK) {
            t->ctx->error = run->session->error;
            return t->ctx->error.status;
        }
    return TAKT_OK;
}

/* Rows are cut out of arrays of which each has all samples. An array of a model with a fixed batch
 * may also be one for every part. */
static takt_status check_rows(const takt_trainer *t, const takt_desc *desc,
                              const takt_tensor_view *v, int64_t samples)
{
    if (!takt_batch_is_cut(t, desc) || v->rank < 1 || v->dims[0] == samples ||
        v->dims[0] == takt_batch_fixed(t))
        return TAKT_OK;
    takt_fail(t->ctx, TAKT_E_BINDING, "the batch has %lld samples, but %lld of %s",
              (long long)samples, (long long)v->dims[0], desc->name);
    return takt_fail_hint(t->ctx, "every array of a batch has one row for each sample");
}

/* Rows of narrow elements may begin inside a byte: they are copied to the session's own memory. */
static takt_status align_rows(takt_train_run *run, size_t input, const takt_tensor_view *whole,
                              takt_rows rows, takt_tensor_view *part)
{
    const bool is_float = takt_dtype_is_float(whole->dtype);
    int64_t each = 1;
    for (int d = 1; d < whole->rank; d++)
        each *= whole->dims[d];
    const size_t first = (size_t)(rows.first * each), count = (size_t)(rows.rows * each);
    if (part->data == NULL || part->dims[0] == whole->dims[0] || !takt_view_is_dense(whole) ||
        first * (size_t)takt_dtype_bits(whole->dtype) % 8 == 0)
        return TAKT_OK;
    TAKT_TRY(takt_session_own(run->session, TAKT_PLACE_INPUT, input));
    void *to = takt_session_input(run->session, input)->data;
    for (size_t i = 0; i < count; i++)
        if (is_float)
            takt_dtype_put_f(whole->dtype, to, i,
                             takt_dtype_get_f(whole->dtype, whole->data, first + i));
        else
            takt_dtype_put_i(whole->dtype, to, i,
                             takt_dtype_get_i(whole->dtype, whole->data, first + i));
    part->data = to;
    return TAKT_OK;
}

/* The session's message names the types; labels depend on a choice that the user can change. */
static takt_status cannot_bind(takt_trainer *t, const takt_train_run *run, const takt_desc *desc,
                               const takt_tensor_view *v)
{
    t->ctx->error = run->session->error;
    if (strcmp(desc->name, TAKT_STEP_LABELS) == 0 && v->dtype != desc->dtype)
        return takt_fail_hint(t->ctx, "the loss decides: cross_entropy takes class numbers (i64), "
                                      "mse and mae numbers of the output's type and shape");
    return t->ctx->error.status;
}

static takt_status bind_all(takt_trainer *t, takt_train_run *run, const takt_named_view *batch,
                            size_t count, takt_rows rows)
{
    int64_t samples;
    TAKT_TRY(takt_batch_samples(t, batch, count, &samples));
    for (size_t i = 0; i < run->model->graph->input_count; i++) {
        const takt_desc *desc = &run->model->inputs[i];
        const takt_named_view *v = takt_batch_find(batch, count, desc->name, i);
        if (strncmp(desc->name, "train.", 6) == 0)
            continue;
        if (v == NULL) {
            takt_fail(t->ctx, TAKT_E_BINDING, "the batch has no %s", desc->name);
            return takt_fail_hint(t->ctx, "a batch has every input of the model, and labels");
        }
        TAKT_TRY(check_rows(t, desc, &v->view, samples));
        takt_tensor_view part = cut(t, desc, &v->view, rows);
        if (part.dtype == desc->dtype && part.device == 0 &&
            align_rows(run, i, &v->view, rows, &part) != TAKT_OK)
            return cannot_bind(t, run, desc, &part);
        const bool is_labels = strcmp(desc->name, TAKT_STEP_LABELS) == 0;
        if ((is_labels && takt_train_labels(run->session, i, &part) != TAKT_OK) ||
            takt_session_bind(run->session, desc->name, &part) != TAKT_OK)
            return cannot_bind(t, run, desc, &part);
        if (is_labels)
            TAKT_TRY(takt_train_check_labels(t, &part, rows.rows > 0 ? rows.first : 0));
    }
    return TAKT_OK;
}

takt_status takt_train_bind(takt_trainer *t, takt_train_run *run, const takt_named_view *batch,
                            size_t count, takt_rows rows)
{
    run->asked.length = 0;
    run->asked.status = TAKT_OK;
    if (run->asked.at != NULL)
        run->asked.at[0] = '\0';
    takt_status status = takt_batch_sizes(t, run->model, batch, count, rows, &run->asked);
    if (status == TAKT_OK)
        status = resize(t, run, takt_text_get(&run->asked));
    if (status == TAKT_OK)
        status = own_scalars(t, run);
    return status == TAKT_OK ? bind_all(t, run, batch, count, rows) : status;
}

/* ---- ports and slots by name ---- */

void *takt_train_input(takt_train_run *run, const char *name)
{
    const takt_graph *g = run->session->plan->graph;
    for (size_t i = 0; i < g->input_count; i++)
        if (strcmp(g->inputs[i].name, name) == 0) {
            const takt_tensor_view *v = takt_session_input(run->session, i);
            return v != NULL ? v->data : NULL;
        }
    return NULL;
}

const void *takt_train_output(takt_train_run *run, const char *name)
{
    const takt_graph *g = run->session->plan->graph;
    for (size_t i = 0; i < g->output_count; i++)
        if (strcmp(g->outputs[i].name, name) == 0) {
            const takt_tensor_view *v = takt_session_output(run->session, i);
            return v != NULL ? v->data : NULL;
        }
    return NULL;
}

takt_status takt_train_slot(const takt_trainer *t, const char *name, takt_tensor *value)
{
    const takt_session *s = t->step.session;
    const takt_slot *slot = s != NULL ? takt_graph_find_slot(s->plan->graph, name) : NULL;
    if (slot != NULL)
        return takt_session_look(s, (size_t)(slot - s->plan->graph->slots), value);
    *value = (takt_tensor){.storage = NULL};
    const takt_model *m = t->step.model;
    slot = takt_graph_find_slot(m->graph, name);
    if (slot != NULL && m->slots[slot - m->graph->slots].storage != NULL) {
        *value = m->slots[slot - m->graph->slots];
        takt_storage_retain(value->storage);
    }
    return TAKT_OK;
}
