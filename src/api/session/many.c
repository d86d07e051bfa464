/* many.c - one model over many samples: batches distributed among sessions. */
#include <inttypes.h>
#include <string.h>

#include "api/model.h"
#include "api/session/many.h"
#include "base/mem.h"
#include "base/options.h"
#include "base/written.h"

enum { DEFAULT_BATCH = 32 };

/* ---- what is cut ---- */

static const takt_desc *find(const takt_model *m, const char *name, bool *is_input)
{
    *is_input = true;
    for (size_t i = 0; i < takt_model_input_count(m); i++)
        if (strcmp(m->inputs[i].name, name) == 0)
            return &m->inputs[i];
    *is_input = false;
    for (size_t i = 0; i < takt_model_output_count(m); i++)
        if (strcmp(m->outputs[i].name, name) == 0)
            return &m->outputs[i];
    return NULL;
}

/* The dimension as descriptions and sizes write it; the caller may have left out the quotes. */
static const char *written(const takt_model *m, const char *dim)
{
    const size_t inputs = takt_model_input_count(m);
    for (size_t i = 0; dim != NULL && i < inputs + takt_model_output_count(m); i++) {
        const takt_desc *d = i < inputs ? &m->inputs[i] : &m->outputs[i - inputs];
        if (d->rank > 0 && d->dim_names[0] != NULL &&
            takt_written_same(takt_span_of(d->dim_names[0]), takt_span_of(dim)))
            return d->dim_names[0];
    }
    return dim;
}

static takt_status check_stream(const takt_many *w, const takt_named_view *v, const char *name,
                                bool is_input)
{
    if (v->view.data != NULL || (is_input ? w->load != NULL : w->store != NULL))
        return TAKT_OK;
    return takt_fail(w->ctx, TAKT_E_BINDING, "%s has no data, and nothing %s it", name,
                     is_input ? "loads" : "stores");
}

static takt_status cut_one(takt_many *w, size_t i, bool *is_cut)
{
    const takt_named_view *v = &w->views[i];
    bool is_input;
    const takt_desc *d = v->name != NULL ? find(w->model, v->name, &is_input) : NULL;
    if (d == NULL)
        return takt_fail(w->ctx, TAKT_E_NAME, "the model has no input or output called %s",
                         v->name != NULL ? v->name : "(null)");
    w->is_input[i] = is_input;
    *is_cut = d->rank > 0 && d->dim_names[0] != NULL && strcmp(d->dim_names[0], w->dim) == 0;
    if (!*is_cut && !is_input)
        return takt_fail(w->ctx, TAKT_E_SHAPE,
                         "the first dimension of output %s is not %s: batches of it cannot be "
                         "put together",
                         d->name, w->dim);
    if (!*is_cut && v->view.data == NULL)
        return takt_fail(w->ctx, TAKT_E_BINDING, "input %s is not cut into batches: it needs data",
                         d->name);
    if (!*is_cut)
        return TAKT_OK;
    TAKT_TRY(check_stream(w, v, d->name, is_input));
    if (v->view.rank != d->rank)
        return takt_fail(w->ctx, TAKT_E_BINDING, "%s has %d dimensions, the buffer has %d", d->name,
                         d->rank, v->view.rank);
    if (w->samples >= 0 && w->samples != v->view.dims[0])
        return takt_fail(w->ctx, TAKT_E_BINDING, "%s has %lld samples, another buffer has %lld",
                         d->name, (long long)v->view.dims[0], (long long)w->samples);
    w->samples = v->view.dims[0];
    return TAKT_OK;
}

static takt_status check(takt_many *w)
{
    const takt_graph *g = w->model->graph;
    for (size_t i = 0; i < g->slot_count; i++)
        if (g->slots[i].next != TAKT_NONE)
            return takt_fail(w->ctx, TAKT_E_STATE,
                             "state %s goes from run to run, so batches cannot run at once",
                             g->slots[i].name);
    if (w->dim == NULL)
        return takt_fail(w->ctx, TAKT_E_SHAPE,
                         "the first dimension of the first input is a number: nothing can be cut");
    for (size_t i = 0; i < w->count; i++)
        TAKT_TRY(cut_one(w, i, &w->is_cut[i]));
    if (w->samples < 0)
        return takt_fail(w->ctx, TAKT_E_NAME, "no input or output begins with dimension %s",
                         w->dim);
    return TAKT_OK;
}

/* ---- sessions ---- */

/* The caller's sizes, with that of the split dimension replaced. */
static void add_sizes(const takt_many *w, const char *sizes, int64_t batch, takt_text *text)
{
    const takt_span dim = takt_span_of(w->dim);
    while (sizes != NULL && *sizes != '\0') {
        const takt_span item = {sizes, takt_written_length(sizes, ",")};
        takt_span name, value;
        if (!takt_written_pair(item, &name, &value) || !takt_written_same(name, dim)) {
            takt_text_put(text, sizes, item.length);
            takt_text_add(text, ",");
        }
        sizes += item.length + (sizes[item.length] == ',');
    }
    takt_text_add(text, "%s=%" PRId64, w->dim, batch);
}

static takt_status make_plan(const takt_many *w, const takt_plan_options *given, int64_t batch,
                             takt_plan **plan)
{
    takt_plan_options options;
    TAKT_TRY(takt_options_read(w->ctx, "takt_plan_options", given, &options, sizeof options));
    takt_text sizes;
    takt_text_init(&sizes, w->ctx);
    add_sizes(w, options.sizes, batch, &sizes);
    options.sizes = takt_text_get(&sizes);
    options.threads = options.threads > 0 ? options.threads : 1;
    *plan = NULL;
    const takt_status status =
        sizes.status == TAKT_OK ? takt_plan_get(w->model, &options, plan) : sizes.status;
    takt_text_deinit(&sizes);
    return status;
}

static takt_status make_sessions(takt_many *w, const takt_plan_options *options)
{
    const int64_t rest = w->samples % w->batch;
    takt_plan *plan;
    takt_status status = TAKT_OK;
    if (w->samples >= w->batch) {
        TAKT_TRY(make_plan(w, options, w->batch, &plan));
        for (size_t i = 0; i < w->jobs && status == TAKT_OK; i++)
            status = takt_session_create(plan, NULL, &w->sessions[i]);
        takt_plan_destroy(plan);
    }
    if (status == TAKT_OK && rest > 0) {
        TAKT_TRY(make_plan(w, options, rest, &plan));
        status = takt_session_create(plan, NULL, &w->tail);
        takt_plan_destroy(plan);
    }
    return status;
}

/* ---- the whole ---- */

static takt_status run_cut(takt_many *w, const takt_many_options *o)
{
    if (w->samples == 0)
        return TAKT_OK;
    w->chunks = (size_t)((w->samples - 1) / w->batch + 1);
    const size_t wanted = (size_t)(o->jobs > 0 ? o->jobs : takt_pool_default_threads());
    w->jobs = wanted < w->chunks ? wanted : w->chunks;
    void *block;
    TAKT_TRY(takt_mem_zero(w->ctx, w->jobs, sizeof *w->sessions, "sessions", &block));
    w->sessions = block;
    takt_status status = make_sessions(w, o->plan);
    if (status == TAKT_OK)
        status = takt_many_run(w);
    for (size_t i = 0; i < w->jobs; i++)
        takt_session_destroy(w->sessions[i]);
    takt_session_destroy(w->tail);
    takt_mem_put(w->ctx, block, w->jobs * sizeof *w->sessions);
    return status;
}

takt_status takt_run_many(const takt_model *m, const takt_many_options *options,
                          const takt_named_view *views, size_t count)
{
    TAKT_NEED(NULL, m);
    takt_many_options o;
    TAKT_TRY(takt_options_read(m->ctx, "takt_many_options", options, &o, sizeof o));
    const char *first =
        m->graph->input_count > 0 && m->inputs[0].rank > 0 ? m->inputs[0].dim_names[0] : NULL;
    takt_plan_options planned;
    TAKT_TRY(takt_options_read(m->ctx, "takt_plan_options", o.plan, &planned, sizeof planned));
    if (planned.donate != NULL)
        return takt_fail(m->ctx, TAKT_E_OPTION,
                         "inputs that all batches read cannot be donated: %s", planned.donate);
    if (o.batch_size < 0 || o.jobs < 0 || o.jobs > TAKT_POOL_MAX)
        return takt_fail(m->ctx, TAKT_E_OPTION,
                         "batch size %lld and %d jobs: neither may be negative, and jobs are at "
                         "most %d",
                         (long long)o.batch_size, o.jobs, (int)TAKT_POOL_MAX);
    void *flags;
    TAKT_TRY(takt_mem_zero(m->ctx, 2 * count, sizeof(bool), "views", &flags));
    takt_many w = {.model = m,
                   .ctx = m->ctx,
                   .dim = o.dim != NULL ? written(m, o.dim) : first,
                   .views = views,
                   .is_cut = flags,
                   .is_input = (bool *)flags + count,
                   .count = count,
                   .samples = -1,
                   .batch = o.batch_size > 0 ? o.batch_size : DEFAULT_BATCH,
                   .load = o.load,
                   .store = o.store,
                   .user = o.user};
    takt_status status = check(&w);
    if (status == TAKT_OK)
        status = run_cut(&w, &o);
    takt_mem_put(m->ctx, flags, 2 * count * sizeof(bool));
    return status;
}
