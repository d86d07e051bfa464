/* run_batches.c - a run batch by batch: files are read and written in slices. */
#define _POSIX_C_SOURCE 200809L
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct batches {
    tool_run *r;
    int64_t samples, batch;
    tool_results results;
    takt_npy **written; /* one per output: its file, or NULL */
    takt_plan *plan;
    takt_plan_options options;
    takt_deviation deviation;
} batches;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ---- slices ---- */

static takt_status load(void *user, const char *name, int64_t first, int64_t count, void *to)
{
    const batches *b = user;
    for (size_t i = 0; i < b->r->input_count; i++)
        if (strcmp(takt_model_input(b->r->model, i)->name, name) == 0)
            return takt_npy_read_rows(b->r->files[i], first, count, to);
    return TAKT_ERR_NOT_FOUND;
}

static takt_status store(void *user, const char *name, int64_t first, int64_t count,
                         const void *from)
{
    const batches *b = user;
    (void)first;
    for (size_t i = 0; i < b->results.count; i++)
        if (strcmp(b->results.names[i], name) == 0)
            return takt_npy_write_rows(b->written[i], from, count);
    return TAKT_ERR_NOT_FOUND;
}

/* ---- before ---- */

static bool is_cut(const batches *b, const takt_desc *d)
{
    return d->rank > 0 && d->dim_names[0] != NULL && strcmp(d->dim_names[0], b->r->cut) == 0;
}

/* Number of samples: from a file, from -D, or one. */
static int64_t count_samples(const tool_run *r)
{
    const long long size = tool_size_of(&r->sizes, r->cut);
    return size >= 0 ? size : 1;
}

/* The sizes of one batch: those of the whole with one of them changed. */
static bool write_sizes(const batches *b, char text[TOOL_SIZES])
{
    const int64_t batch = b->batch < b->samples ? b->batch : b->samples;
    return tool_sizes_with(b->r->sizes.text, b->r->cut, batch > 0 ? batch : 1, text);
}

/* Static inputs do not belong to the session. */
static size_t index_of(const takt_session *s, const char *name)
{
    size_t i = 0;
    while (i < takt_session_input_count(s) &&
           strcmp(takt_session_input_desc(s, i)->name, name) != 0)
        i++;
    return i;
}

static const takt_desc *find_desc(const takt_session *s, const char *name)
{
    return takt_session_input_desc(s, index_of(s, name));
}

static int fill_random(batches *b, takt_session *s)
{
    tool_run *r = b->r;
    for (size_t i = 0; i < r->input_count; i++) {
        if (!r->is_random[i])
            continue;
        const takt_desc *d = find_desc(s, takt_model_input(r->model, i)->name);
        takt_tensor_view *v = &r->inputs[i];
        if (d == NULL)
            continue;
        takt_view_free(r->t->ctx, v);
        *v = (takt_tensor_view){.dtype = d->dtype, .rank = d->rank};
        memcpy(v->dims, d->dims, sizeof d->dims);
        if (is_cut(b, takt_model_input(r->model, i)))
            v->dims[0] = b->samples;
        takt_status status = takt_view_alloc(r->t->ctx, v);
        if (status == TAKT_OK)
            status = takt_session_random(s, index_of(s, d->name), v,
                                         tool_number_of(r->t, TAKT_F_SEED, 0), (uint32_t)i);
        if (status != TAKT_OK)
            return tool_finish(r->t, status);
    }
    return TAKT_EXIT_OK;
}

/* The first rows of input `i` in a session of one batch. */
static takt_status feed_first(batches *b, takt_session *s, size_t i)
{
    const tool_run *r = b->r;
    const takt_desc *d = takt_model_input(r->model, i);
    const int64_t rows = b->batch < b->samples ? b->batch : b->samples;
    if (find_desc(s, d->name) == NULL)
        return TAKT_OK; /* it is static */
    if (r->files[i] == NULL || !is_cut(b, d)) {
        takt_tensor_view first = r->inputs[i];
        if (is_cut(b, d))
            first.dims[0] = rows;
        return takt_session_bind(s, d->name, &first);
    }
    for (size_t k = 0; k < takt_session_input_count(s); k++)
        if (strcmp(takt_session_input_desc(s, k)->name, d->name) == 0) {
            const takt_tensor_view *own = takt_session_input(s, k);
            return own != NULL ? takt_npy_read_rows(r->files[i], 0, rows, own->data)
                               : TAKT_ERR_MEMORY;
        }
    return TAKT_OK;
}

/* The effect of --precision and --numerics on the first batch. */
static int measure_first(batches *b, takt_session *s)
{
    tool_sizes sizes;
    takt_status status = TAKT_OK;
    if (!tool_deviates(b->r->t) || tool_on(b->r->t, TAKT_F_QUIET) || b->samples <= 0)
        return TAKT_EXIT_OK;
    for (size_t i = 0; i < b->r->input_count && status == TAKT_OK; i++)
        status = feed_first(b, s, i);
    if (status != TAKT_OK && takt_session_error(s)->status == status)
        return tool_report_error(b->r->t, takt_session_error(s));
    snprintf(sizes.text, sizeof sizes.text, "%s", b->options.sizes);
    sizes.length = strlen(sizes.text);
    if (status == TAKT_OK)
        status = tool_deviation(b->r->t, b->r->model, &sizes, s, &b->deviation);
    b->r->deviation = &b->deviation;
    b->r->deviation_of = "the first batch";
    return tool_finish(b->r->t, status);
}

/* Outputs that go to one .npy file need no memory; others are kept in full. */
static int make_results(batches *b, const takt_session *s)
{
    tool_results *o = &b->results;
    b->written = calloc(takt_session_output_count(s) + 1, sizeof *b->written);
    if (!tool_results_init(o, takt_session_output_count(s)) || b->written == NULL)
        return tool_finish(b->r->t, TAKT_ERR_MEMORY);
    for (size_t i = 0; i < o->count; i++) {
        const takt_desc *d = takt_session_output_desc(s, i);
        o->names[i] = takt_model_output(b->r->model, i)->name;
        o->views[i] = (takt_tensor_view){.dtype = d->dtype, .rank = d->rank};
        memcpy(o->views[i].dims, d->dims, sizeof d->dims);
        if (is_cut(b, takt_model_output(b->r->model, i)))
            o->views[i].dims[0] = b->samples;
    }
    for (size_t i = 0; i < o->count; i++) {
        if (is_cut(b, takt_model_output(b->r->model, i)) &&
            tool_output_file(b->r, o, i, o->paths[i])) {
            if (!tool_spares(b->r->t, o->paths[i]))
                return TAKT_EXIT_USAGE;
            continue;
        }
        o->paths[i][0] = '\0';
        const int code = tool_finish(b->r->t, takt_view_alloc(b->r->t->ctx, &o->views[i]));
        if (code != TAKT_EXIT_OK)
            return code;
    }
    return TAKT_EXIT_OK;
}

/* The plan of one batch gives the shapes; the runs find it in the cache. */
static int begin(batches *b)
{
    takt_session *s = NULL;
    int code = tool_finish(b->r->t, takt_plan_get(b->r->model, &b->options, &b->plan));
    if (code == TAKT_EXIT_OK)
        s = tool_make_session(b->r->t, b->plan, &code);
    if (code == TAKT_EXIT_OK)
        code = fill_random(b, s);
    if (code == TAKT_EXIT_OK)
        code = make_results(b, s);
    if (code == TAKT_EXIT_OK)
        code = measure_first(b, s);
    takt_session_destroy(s);
    return code;
}

/* ---- running ---- */

static takt_status open_files(batches *b)
{
    takt_status status = TAKT_OK;
    for (size_t i = 0; i < b->results.count && status == TAKT_OK; i++)
        if (b->results.paths[i][0] != '\0')
            status = takt_npy_create(b->r->t->ctx, b->results.paths[i], &b->results.views[i],
                                     &b->written[i]);
    return status;
}

static takt_status close_files(batches *b, takt_status status)
{
    for (size_t i = 0; i < b->results.count; i++) {
        if (status == TAKT_OK && b->written[i] != NULL)
            status = takt_npy_commit(b->written[i]);
        takt_npy_close(b->written[i]);
        b->written[i] = NULL;
    }
    return status;
}

static takt_status run_once(batches *b, const takt_named_view *views, size_t count)
{
    const takt_many_options options = {.dim = b->r->cut,
                                       .batch_size = b->batch,
                                       .jobs = (int)tool_number_of(b->r->t, TAKT_F_JOBS, 0),
                                       .plan = &b->options,
                                       .load = load,
                                       .store = store,
                                       .user = b};
    takt_status status = open_files(b);
    if (status == TAKT_OK)
        status = takt_run_many(b->r->model, &options, views, count);
    return close_files(b, status);
}

static takt_status run_all(batches *b)
{
    tool_run *r = b->r;
    size_t count = 0;
    takt_named_view *views = calloc(r->input_count + b->results.count + 1, sizeof *views);
    takt_status status = views != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
    for (size_t i = 0; i < r->input_count && views != NULL; i++) {
        const char *name = takt_model_input(r->model, i)->name;
        if (!tool_is_static(r->t, name))
            views[count++] = (takt_named_view){name, r->inputs[i]};
    }
    for (size_t i = 0; i < b->results.count && views != NULL; i++)
        views[count++] = (takt_named_view){b->results.names[i], b->results.views[i]};
    for (size_t i = 0; i < r->runs && status == TAKT_OK; i++) {
        const uint64_t start = now_ns();
        status = run_once(b, views, count);
        r->times_ns[i] = now_ns() - start;
    }
    free(views);
    return status;
}

static int finish(batches *b)
{
    bool printed = false;
    int code = tool_finish(b->r->t, run_all(b));
    if (code == TAKT_EXIT_OK)
        code = tool_save_outputs(b->r, &b->results, &printed);
    if (code == TAKT_EXIT_OK)
        code = tool_print_result(b->r, b->plan, &b->results, printed);
    return code;
}

int tool_run_batches(tool_run *r)
{
    char text[TOOL_SIZES];
    tool_request request;
    batches b = {.r = r, .batch = (int64_t)tool_number_of(r->t, TAKT_F_BATCH_SIZE, 32)};
    if (r->cut == NULL) /* which says why */
        return tool_finish(r->t, takt_run_many(r->model, NULL, NULL, 0));
    b.samples = count_samples(r);
    if (!write_sizes(&b, text))
        return tool_usage_error(r->t, 1003, NULL, "the sizes need more than %d bytes", TOOL_SIZES);
    int code = tool_request_init(r->t, text, &request);
    if (code != TAKT_EXIT_OK)
        return code;
    b.options = request.options;
    b.options.threads = b.options.threads > 0 ? b.options.threads : 1;
    code = begin(&b);
    if (code == TAKT_EXIT_OK)
        code = finish(&b);
    for (size_t i = 0; i < b.results.count && b.results.views != NULL; i++)
        takt_view_free(r->t->ctx, &b.results.views[i]);
    tool_results_free(&b.results);
    free(b.written);
    takt_plan_destroy(b.plan);
    tool_request_free(&request);
    return code;
}
