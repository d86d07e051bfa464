/* many.c - one model over many samples: batches shared out among sessions. */
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "api/model.h"
#include "api/session.h"
#include "base/mem.h"
#include "base/options.h"

enum { DEFAULT_BATCH = 32 };

typedef struct many many;

typedef struct worker {
    many *all;
    takt_session *session;
    void *thread; /* NULL: the caller's own */
} worker;

struct many {
    const takt_model *model;
    takt_ctx *ctx;
    const char *dim;
    const takt_named_view *views;
    const bool *is_cut; /* per view */
    size_t count;
    int64_t samples, batch;
    size_t chunks, jobs;
    worker *workers;
    takt_session *tail; /* for the last, shorter batch, or NULL */
    _Atomic size_t next;
    takt_error error; /* of the first failure, guarded by `claimed` */
    _Atomic bool claimed;
};

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

static takt_status cut_one(many *w, size_t i, bool *is_cut)
{
    const takt_named_view *v = &w->views[i];
    bool is_input;
    const takt_desc *d = v->name != NULL ? find(w->model, v->name, &is_input) : NULL;
    if (d == NULL)
        return takt_fail(w->ctx, TAKT_E_NAME, "the model has no input or output called %s",
                         v->name != NULL ? v->name : "(null)");
    *is_cut = d->rank > 0 && d->dim_names[0] != NULL && strcmp(d->dim_names[0], w->dim) == 0;
    if (!*is_cut && !is_input)
        return takt_fail(w->ctx, TAKT_E_SHAPE,
                         "the first dimension of output %s is not %s: batches of it cannot be "
                         "put together",
                         d->name, w->dim);
    if (!*is_cut)
        return TAKT_OK;
    if (v->view.rank != d->rank)
        return takt_fail(w->ctx, TAKT_E_BINDING, "%s has %d dimensions, the buffer has %d", d->name,
                         d->rank, v->view.rank);
    if (w->samples >= 0 && w->samples != v->view.dims[0])
        return takt_fail(w->ctx, TAKT_E_BINDING, "%s has %lld samples, another buffer has %lld",
                         d->name, (long long)v->view.dims[0], (long long)w->samples);
    w->samples = v->view.dims[0];
    return TAKT_OK;
}

static takt_status check(many *w, bool *is_cut)
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
        TAKT_TRY(cut_one(w, i, &is_cut[i]));
    if (w->samples < 0)
        return takt_fail(w->ctx, TAKT_E_NAME, "no input or output begins with dimension %s",
                         w->dim);
    return TAKT_OK;
}

/* ---- sessions ---- */

/* The caller's sizes, with the one that is cut put in its place. */
static void add_sizes(const many *w, const char *sizes, int64_t batch, takt_text *text)
{
    const size_t length = strlen(w->dim);
    while (sizes != NULL && *sizes != '\0') {
        const size_t item = strcspn(sizes, ",");
        if (!(item > length && strncmp(sizes, w->dim, length) == 0 && sizes[length] == '=')) {
            takt_text_put(text, sizes, item);
            takt_text_add(text, ",");
        }
        sizes += item + (sizes[item] == ',');
    }
    takt_text_add(text, "%s=%" PRId64, w->dim, batch);
}

static takt_status make_plan(const many *w, const takt_plan_options *given, int64_t batch,
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

static takt_status make_sessions(many *w, const takt_plan_options *options)
{
    const int64_t rest = w->samples % w->batch;
    takt_plan *plan;
    takt_status status = TAKT_OK;
    if (w->samples >= w->batch) {
        TAKT_TRY(make_plan(w, options, w->batch, &plan));
        for (size_t i = 0; i < w->jobs && status == TAKT_OK; i++)
            status = takt_session_create(plan, NULL, &w->workers[i].session);
        takt_plan_destroy(plan);
    }
    if (status == TAKT_OK && rest > 0) {
        TAKT_TRY(make_plan(w, options, rest, &plan));
        status = takt_session_create(plan, NULL, &w->tail);
        takt_plan_destroy(plan);
    }
    return status;
}

/* ---- work ---- */

static takt_tensor_view slice(const takt_tensor_view *v, int64_t first, int64_t count)
{
    takt_tensor_view part = *v;
    bool is_plain = true;
    int64_t row = 1;
    for (int d = 0; d < v->rank; d++)
        is_plain = is_plain && v->strides[d] == 0;
    for (int d = 1; d < v->rank; d++)
        row *= v->dims[d];
    const int64_t step = is_plain ? row : v->strides[0];
    part.dims[0] = count;
    part.data = (char *)v->data + first * step * takt_dtype_bits(v->dtype) / 8;
    return part;
}

static takt_status run_batch(many *w, takt_session *s, size_t chunk)
{
    const int64_t first = (int64_t)chunk * w->batch, left = w->samples - first;
    for (size_t i = 0; i < w->count; i++) {
        const takt_tensor_view *v = &w->views[i].view;
        const takt_tensor_view part =
            w->is_cut[i] ? slice(v, first, left < w->batch ? left : w->batch) : *v;
        TAKT_TRY(takt_session_bind(s, w->views[i].name, &part));
    }
    return takt_session_run(s);
}

static void note_failure(many *w, const takt_session *s)
{
    if (!atomic_exchange(&w->claimed, true))
        w->error = s->error;
    atomic_store(&w->next, w->chunks); /* nobody begins another one */
}

static void work(void *user)
{
    worker *me = user;
    many *w = me->all;
    for (;;) {
        const size_t chunk = atomic_fetch_add(&w->next, 1);
        if (chunk >= w->chunks)
            return;
        takt_session *s = chunk + 1 == w->chunks && w->tail != NULL ? w->tail : me->session;
        if (run_batch(w, s, chunk) != TAKT_OK)
            note_failure(w, s);
    }
}

/* A thread that cannot be started is done without. */
static takt_status run_all(many *w)
{
    for (size_t i = 1; i < w->jobs; i++)
        if (w->ctx->threads.start(w->ctx->threads.user, work, &w->workers[i],
                                  &w->workers[i].thread) != 0)
            w->workers[i].thread = NULL;
    work(&w->workers[0]);
    for (size_t i = 1; i < w->jobs; i++)
        if (w->workers[i].thread != NULL)
            w->ctx->threads.join(w->ctx->threads.user, w->workers[i].thread);
    if (!atomic_load(&w->claimed))
        return TAKT_OK;
    w->ctx->error = w->error;
    return w->error.status;
}

static takt_status run_many(many *w, const takt_many_options *o, bool *is_cut)
{
    TAKT_TRY(check(w, is_cut));
    if (w->samples == 0)
        return TAKT_OK;
    w->chunks = (size_t)((w->samples - 1) / w->batch + 1);
    const size_t wanted = (size_t)(o->jobs > 0 ? o->jobs : takt_pool_default_threads());
    w->jobs = wanted < w->chunks ? wanted : w->chunks;
    void *block;
    TAKT_TRY(takt_mem_zero(w->ctx, w->jobs, sizeof *w->workers, "workers", &block));
    w->workers = block;
    for (size_t i = 0; i < w->jobs; i++)
        w->workers[i].all = w;
    takt_status status = make_sessions(w, o->plan);
    if (status == TAKT_OK)
        status = run_all(w);
    for (size_t i = 0; i < w->jobs; i++)
        takt_session_destroy(w->workers[i].session);
    takt_session_destroy(w->tail);
    takt_mem_put(w->ctx, block, w->jobs * sizeof *w->workers);
    return status;
}

takt_status takt_run_many(const takt_model *m, const takt_many_options *options,
                          const takt_named_view *views, size_t count)
{
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
        return takt_fail(m->ctx, TAKT_E_OPTION, "%lld samples a batch and %d jobs cannot be",
                         (long long)o.batch_size, o.jobs);
    void *is_cut;
    TAKT_TRY(takt_mem_zero(m->ctx, count, sizeof(bool), "views", &is_cut));
    many w = {.model = m,
              .ctx = m->ctx,
              .dim = o.dim != NULL ? o.dim : first,
              .views = views,
              .is_cut = is_cut,
              .count = count,
              .samples = -1,
              .batch = o.batch_size > 0 ? o.batch_size : DEFAULT_BATCH};
    const takt_status status = run_many(&w, &o, is_cut);
    takt_mem_put(m->ctx, is_cut, count * sizeof(bool));
    return status;
}
