/* feed.c - samples of a data set into the inputs of a session. */
#include "shrink/feed.h"

#include <string.h>

/* ---- fitting ---- */

static const takt_desc *field_called(const takt_data *d, const char *name)
{
    for (size_t i = 0; i < takt_data_field_count(d); i++)
        if (strcmp(takt_data_field(d, i)->name, name) == 0)
            return takt_data_field(d, i);
    return NULL;
}

static uint64_t sample_size(const takt_desc *d)
{
    uint64_t size = 1;
    for (int i = 1; i < d->rank; i++)
        size *= d->dims[i] > 0 ? (uint64_t)d->dims[i] : 1;
    return size;
}

static takt_status find_fields(takt_feed *f)
{
    const size_t count = takt_model_input_count(f->model);
    f->fields = takt_arena_array(&f->arena, count + 1, sizeof *f->fields);
    if (f->fields == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const takt_desc *input = takt_model_input(f->model, i);
        const takt_desc *field = field_called(f->data, input->name);
        if (field == NULL && i == 0)
            field = field_called(f->data, "x");
        if (field == NULL) {
            takt_fail(f->ctx, TAKT_E_SHRINK_DATA, "the data has no field for the input %s",
                      input->name);
            return takt_fail_hint(f->ctx, "its first field is %s",
                                  takt_data_field(f->data, 0)->name);
        }
        f->fields[i] = field->name;
    }
    return TAKT_OK;
}

static takt_status wrong_size(takt_feed *f, size_t index, uint64_t has, uint64_t wanted)
{
    takt_fail(f->ctx, TAKT_E_SHRINK_DATA,
              "a sample of %s has %llu elements, the input %s takes %llu", f->fields[index],
              (unsigned long long)has, takt_model_input(f->model, index)->name,
              (unsigned long long)wanted);
    return takt_fail_hint(f->ctx, "give samples of what the model will see: one line of a table, "
                                  "or the first axis of an array, is one sample");
}

/* How many samples an input of fixed size holds: its elements divided by those of a sample. */
static takt_status count_fixed(takt_feed *f, uint64_t *count)
{
    const takt_desc *input = takt_model_input(f->model, 0);
    const uint64_t size = sample_size(field_called(f->data, f->fields[0]));
    uint64_t all = 1;
    for (int i = 0; i < input->rank; i++)
        all *= input->dims[i] > 0 ? (uint64_t)input->dims[i] : 1;
    if (size == 0 || all % size != 0)
        return wrong_size(f, 0, size, all);
    *count = all / size;
    return TAKT_OK;
}

static char *with_batch(takt_feed *f, const char *sizes, const char *name, uint64_t count)
{
    const bool more = sizes != NULL && sizes[0] != '\0';
    return takt_arena_format(&f->arena, "%s%s%s=%llu", more ? sizes : "", more ? "," : "", name,
                             (unsigned long long)count);
}

/* Whether "…,batch=…" has been added. */
static bool says(const char *sizes, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = sizes; at != NULL && *at != '\0'; at++)
        if ((at == sizes || at[-1] == ',') && strncmp(at, name, length) == 0 && at[length] == '=')
            return true;
    return false;
}

static takt_status choose_batch(takt_feed *f, const char *sizes, uint64_t batch, uint64_t limit)
{
    const takt_desc *input = takt_model_input(f->model, 0);
    const char *name = input->rank > 0 ? input->dim_names[0] : NULL;
    const uint64_t all = takt_data_count(f->data);
    f->samples = limit > 0 && limit < all ? limit : all;
    f->sizes = sizes;
    if (name == NULL || says(sizes, name)) {
        if (name != NULL) {
            takt_fail(f->ctx, TAKT_E_SHRINK_DATA,
                      "%s counts the samples of the data: it has no size of its own", name);
            return takt_fail_hint(f->ctx, "leave -D %s=N out", name);
        }
        TAKT_TRY(count_fixed(f, &f->per_run));
        f->runs = f->per_run > 0 ? f->samples / f->per_run : 0;
        f->samples = f->runs * f->per_run;
    } else {
        f->per_run = f->samples < batch ? f->samples : batch;
        f->rest_count = f->samples % f->per_run;
        f->runs = f->samples / f->per_run + (f->rest_count > 0);
        f->sizes = with_batch(f, sizes, name, f->per_run);
        f->rest = f->rest_count > 0 ? with_batch(f, sizes, name, f->rest_count) : NULL;
        if (f->sizes == NULL || (f->rest_count > 0 && f->rest == NULL))
            return TAKT_ERR_MEMORY;
    }
    if (f->runs == 0) {
        takt_fail(f->ctx, TAKT_E_SHRINK_DATA, "%llu samples are too few for one run",
                  (unsigned long long)all);
        return takt_fail_hint(f->ctx, "a run of the model takes %llu",
                              (unsigned long long)f->per_run);
    }
    f->rows = takt_arena_array(&f->arena, f->per_run, sizeof *f->rows);
    return f->rows != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

takt_status takt_feed_init(takt_feed *f, const takt_model *m, const takt_data *data,
                           const char *sizes, uint64_t batch, uint64_t limit)
{
    *f = (takt_feed){.ctx = m->ctx, .data = data, .model = m};
    takt_arena_init(&f->arena, m->ctx);
    takt_status status = TAKT_OK;
    if (takt_model_input_count(m) == 0)
        status = takt_fail(m->ctx, TAKT_E_SHRINK_DATA, "the model has no input to give data to");
    if (status == TAKT_OK)
        status = find_fields(f);
    if (status == TAKT_OK)
        status = choose_batch(f, sizes, batch, limit);
    if (status != TAKT_OK)
        takt_feed_deinit(f);
    return status;
}

void takt_feed_deinit(takt_feed *f)
{
    takt_arena_deinit(&f->arena);
    *f = (takt_feed){0};
}

/* ---- feeding ---- */

static uint64_t rows_of(takt_feed *f, uint64_t run)
{
    const bool is_rest = f->rest_count > 0 && run + 1 == f->runs;
    const uint64_t count = is_rest ? f->rest_count : f->per_run;
    for (uint64_t i = 0; i < count; i++)
        f->rows[i] = run * f->per_run + i;
    return count;
}

static takt_status put_input(takt_feed *f, takt_shrink_run *r, size_t index, uint64_t count)
{
    const takt_tensor_view *to = takt_session_input(r->session, index);
    if (to == NULL)
        return TAKT_ERR_MEMORY;
    takt_tensor_view flat = {
        .dtype = to->dtype, .rank = 2, .dims = {(int64_t)count, 1}, .data = to->data};
    uint64_t all = 1;
    for (int i = 0; i < to->rank; i++)
        all *= (uint64_t)to->dims[i];
    const uint64_t size = sample_size(field_called(f->data, f->fields[index]));
    if (all != size * count)
        return wrong_size(f, index, size, count > 0 ? all / count : all);
    flat.dims[1] = (int64_t)size;
    return takt_data_take(f->data, f->fields[index], f->rows, count, &flat);
}

takt_status takt_feed_put(takt_feed *f, takt_shrink_run *r, uint64_t run, uint64_t *count)
{
    *count = rows_of(f, run);
    if (f->progress != NULL)
        f->progress(f->progress_user, f->part, run, f->runs);
    if (run > 0 && run + 1 == f->runs && f->rest_count > 0)
        TAKT_TRY(takt_session_reshape(r->session, r->model, f->rest));
    takt_session_reset(r->session);
    for (size_t i = 0; i < takt_model_input_count(f->model); i++)
        TAKT_TRY(put_input(f, r, i, *count));
    return TAKT_OK;
}

takt_status takt_feed_labels(takt_feed *f, uint64_t run, int64_t *labels, uint64_t *count)
{
    *count = rows_of(f, run);
    const takt_desc *field = field_called(f->data, "labels");
    if (field == NULL || sample_size(field) != 1) {
        takt_fail(f->ctx, TAKT_E_SHRINK_DATA, "the data has no labels to score with");
        return takt_fail_hint(f->ctx,
                              "one class number a sample: a column of a table (--label), or "
                              "an array called labels");
    }
    const takt_tensor_view to = {
        .dtype = TAKT_I64, .rank = 1, .dims = {(int64_t)*count}, .data = labels};
    return takt_data_take(f->data, "labels", f->rows, *count, &to);
}
