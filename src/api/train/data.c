/* data.c - data sets: opening them and taking samples out of them. */
#include "api/train/data.h"

#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "base/options.h"
#include "io/file.h"

/* ---- files ---- */

static takt_status read_with(takt_data_set *set, const takt_data_file *file)
{
    for (size_t i = 0; takt_data_readers[i] != NULL; i++)
        if (takt_data_readers[i]->recognises(file)) {
            set->format = takt_data_readers[i]->name;
            return takt_data_readers[i]->read(set, file);
        }
    takt_data_fail(set, file, "this is not a data set that Takt knows");
    return takt_fail_hint(set->ctx,
                          "it reads IDX, CIFAR, npy, npz, csv, text, pictures and WAV files");
}

static takt_status read_file(takt_data *d, const char *path)
{
    takt_ctx *ctx = d->set.ctx;
    void *bytes, *plain = NULL;
    size_t length, plain_length = 0;
    TAKT_TRY(takt_read_file(ctx, path, &bytes, &length));
    takt_status status = TAKT_OK;
    const bool is_gzip = takt_is_gzip(bytes, length);
    if (is_gzip)
        status = takt_gunzip(ctx, path, bytes, length, &plain, &plain_length);
    const takt_data_file file = {.path = path,
                                 .bytes = is_gzip ? plain : bytes,
                                 .length = is_gzip ? plain_length : length,
                                 .label = d->options.label,
                                 .window = d->options.window > 0 ? d->options.window : 64};
    if (status == TAKT_OK)
        status = read_with(&d->set, &file);
    if (plain != NULL)
        takt_mem_put(ctx, plain, plain_length > 0 ? plain_length : 1);
    takt_mem_put(ctx, bytes, length);
    return status;
}

bool takt_data_exists(takt_ctx *ctx, const char *path)
{
    takt_file *file;
    if (ctx->files.open_read(ctx->files.user, path, &file) != 0)
        return false;
    ctx->files.close(ctx->files.user, file);
    return true;
}

/* A file of a known data set in a folder, plain or compressed. */
static takt_status read_part(takt_data *d, const char *folder, const char *name, bool *found)
{
    static const char *const endings[] = {"", ".gz"};
    takt_text path;
    takt_status status = TAKT_OK;
    *found = false;
    for (size_t i = 0; i < 2 && !*found && status == TAKT_OK; i++) {
        takt_text_init(&path, d->set.ctx);
        takt_text_add(&path, "%s/%s%s", folder, name, endings[i]);
        status = path.status;
        if (status == TAKT_OK && takt_data_exists(d->set.ctx, takt_text_get(&path))) {
            *found = true;
            status = read_file(d, takt_text_get(&path));
        }
        takt_text_deinit(&path);
    }
    return status;
}

/* The files that data sets are distributed as. */
static takt_status read_folder(takt_data *d, const char *folder, bool *found)
{
    static const char *const train[] = {"train-images-idx3-ubyte",
                                        "train-labels-idx1-ubyte",
                                        "train-images.idx3-ubyte",
                                        "train-labels.idx1-ubyte",
                                        "train.npz",
                                        "train.csv",
                                        "train.txt",
                                        "data_batch_1.bin"};
    static const char *const test[] = {"t10k-images-idx3-ubyte",
                                       "t10k-labels-idx1-ubyte",
                                       "t10k-images.idx3-ubyte",
                                       "t10k-labels.idx1-ubyte",
                                       "test.npz",
                                       "test.csv",
                                       "test.txt",
                                       "test_batch.bin"};
    const bool is_test = d->options.split != NULL && strcmp(d->options.split, "test") == 0;
    *found = false;
    if (!is_test)
        TAKT_TRY(takt_data_read_batches(&d->set, folder, found));
    if (*found)
        return TAKT_OK;
    for (size_t i = 0; i < sizeof train / sizeof *train; i++) {
        bool one;
        TAKT_TRY(read_part(d, folder, is_test ? test[i] : train[i], &one));
        *found = *found || one;
    }
    return TAKT_OK;
}

/* Folders of pictures or sounds, in train/ and test/ or right here. */
static takt_status read_classes(takt_data *d, const char *folder, bool *found)
{
    const char *split = d->options.split != NULL ? d->options.split : "train";
    const char *part = takt_arena_format(&d->set.arena, "%s/%s", folder, split);
    if (part == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_data_read_folder(&d->set, part, found));
    return *found ? TAKT_OK : takt_data_read_folder(&d->set, folder, found);
}

/* ---- opening ---- */

static takt_status describe_field(takt_data *d, const char *name, const takt_tensor *t)
{
    takt_desc *desc = &d->desc[d->fields++];
    *desc = (takt_desc){.name = name, .dtype = t->type.dtype, .rank = t->type.rank};
    for (int i = 0; i < desc->rank; i++)
        desc->dims[i] = t->type.dim[i];
    desc->dims[0] = (int64_t)d->set.samples;
    if (d->set.window > 0) {
        desc->rank = 2;
        desc->dims[1] = d->set.window;
    }
    return TAKT_OK;
}

static int64_t class_count(const takt_field *field)
{
    int64_t most = -1;
    const takt_tensor *t = &field->tensor;
    if (takt_dtype_is_float(t->type.dtype) || t->type.rank != 1)
        return 0;
    for (size_t i = 0; i < takt_tensor_count(t); i++) {
        const int64_t label = takt_dtype_get_i(t->type.dtype, takt_tensor_data(t), i);
        if (label < 0)
            return 0;
        most = label > most ? label : most;
    }
    return most + 1;
}

static takt_status check_fields(takt_data *d, const char *path)
{
    takt_data_set *set = &d->set;
    if (set->count == 0)
        return takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s holds no samples", path);
    set->samples = (uint64_t)set->field[0].tensor.type.dim[0];
    for (size_t i = 0; i < set->count; i++)
        if (takt_tensor_count(&set->field[i].tensor) == 0)
            return takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s: %s has no elements", path,
                             set->field[i].name);
    for (size_t i = 1; i < set->count; i++)
        if ((uint64_t)set->field[i].tensor.type.dim[0] != set->samples)
            return takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s: %s has %llu samples, %s has %lld",
                             path, set->field[0].name, (unsigned long long)set->samples,
                             set->field[i].name, (long long)set->field[i].tensor.type.dim[0]);
    if (set->window > 0)
        set->samples = (set->samples - 1) / (uint64_t)set->window;
    if (d->options.limit > 0 && d->options.limit < set->samples)
        set->samples = d->options.limit;
    if (set->samples == 0)
        return takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s holds no samples", path);
    for (size_t i = 0; i < set->count; i++) {
        TAKT_TRY(describe_field(d, set->field[i].name, &set->field[i].tensor));
        if (strcmp(set->field[i].name, "labels") == 0)
            set->classes = class_count(&set->field[i]);
    }
    return set->window > 0 ? describe_field(d, "labels", &set->field[0].tensor) : TAKT_OK;
}

static takt_status decode(takt_data *d, const char *path)
{
    bool found = false;
    if (!takt_data_exists(d->set.ctx, path)) {
        TAKT_TRY(read_folder(d, path, &found));
        if (!found)
            TAKT_TRY(read_classes(d, path, &found));
        if (!found)
            TAKT_TRY(read_file(d, path)); /* reports what is wrong with it */
    } else {
        TAKT_TRY(read_file(d, path));
    }
    return TAKT_OK;
}

/* Decoded data takes no memory once it is in the file: its pages are mapped as needed. */
static takt_status swap_for_cache(takt_data *d)
{
    takt_data_set cached = {.ctx = d->set.ctx};
    bool found;
    takt_arena_init(&cached.arena, d->set.ctx);
    TAKT_TRY(takt_data_cache_write(&d->set, d->options.cache, d->options.cache_stamp));
    const takt_status status =
        takt_data_cache_read(&cached, d->options.cache, d->options.cache_stamp, &found);
    if (status == TAKT_OK && found) {
        takt_data_set_deinit(&d->set);
        d->set = cached;
    } else { /* where files cannot be mapped, it stays in memory */
        takt_data_set_deinit(&cached);
    }
    return status;
}

static takt_status open_path(takt_data *d, const char *path)
{
    const takt_data_options *o = &d->options;
    bool found = false;
    if (o->cache != NULL && o->cache_stamp == NULL)
        return takt_fail(d->set.ctx, TAKT_E_OPTION, "a cache of data needs a cache_stamp");
    if (o->cache != NULL)
        TAKT_TRY(takt_data_cache_read(&d->set, o->cache, o->cache_stamp, &found));
    if (!found) {
        TAKT_TRY(decode(d, path));
        if (o->cache != NULL && d->set.count > 0)
            TAKT_TRY(swap_for_cache(d));
    }
    return check_fields(d, path);
}

takt_status takt_data_open(takt_ctx *ctx, const char *path, const takt_data_options *options,
                           takt_data **data)
{
    TAKT_NEED(NULL, ctx);
    TAKT_NEED(ctx, data);
    void *block;
    takt_data_options own;
    *data = NULL;
    if (path == NULL)
        return takt_fail(ctx, TAKT_E_ARGUMENT, "takt_data_open: path is NULL");
    TAKT_TRY(takt_options_read(ctx, "takt_data_options", options, &own, sizeof own));
    if (own.split != NULL && strcmp(own.split, "train") != 0 && strcmp(own.split, "test") != 0)
        return takt_fail(ctx, TAKT_E_OPTION, "a split is train or test, not %s", own.split);
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_data), "data set", &block));
    takt_data *d = block;
    d->set.ctx = ctx;
    d->options = own;
    takt_arena_init(&d->set.arena, ctx);
    const takt_status status = open_path(d, path);
    if (status == TAKT_OK)
        *data = d;
    else
        takt_data_destroy(d);
    return status;
}

void takt_data_destroy(takt_data *d)
{
    if (d == NULL)
        return;
    takt_ctx *ctx = d->set.ctx;
    takt_data_set_deinit(&d->set);
    takt_mem_put(ctx, d, sizeof *d);
}

/* ---- reading ---- */

uint64_t takt_data_count(const takt_data *d)
{
    return d != NULL ? d->set.samples : 0;
}

size_t takt_data_field_count(const takt_data *d)
{
    return d != NULL ? d->fields : 0;
}

const takt_desc *takt_data_field(const takt_data *d, size_t index)
{
    if (d == NULL)
        return NULL;
    return index < d->fields ? &d->desc[index] : NULL;
}

int64_t takt_data_classes(const takt_data *d)
{
    return d != NULL ? d->set.classes : 0;
}

int64_t takt_data_rate(const takt_data *d)
{
    return d != NULL ? d->set.rate : 0;
}

uint64_t takt_shuffle(uint64_t count, uint64_t seed, uint64_t epoch, uint64_t position)
{
    return position < count ? takt_permute(position, count, seed, epoch) : position;
}

bool takt_data_find(const takt_data *d, const char *name, takt_data_place *p)
{
    const bool is_window = d->set.window > 0;
    for (size_t i = 0; i < d->set.count; i++) {
        const takt_tensor *t = &d->set.field[i].tensor;
        if (strcmp(d->set.field[i].name, name) != 0)
            continue;
        const size_t size =
            is_window ? (size_t)d->set.window : takt_tensor_count(t) / (size_t)t->type.dim[0];
        *p = (takt_data_place){t, 0, size, size};
        return true;
    }
    if (!is_window || strcmp(name, "labels") != 0)
        return false;
    *p =
        (takt_data_place){&d->set.field[0].tensor, 1, (size_t)d->set.window, (size_t)d->set.window};
    return true;
}

static double scaled(const takt_data_options *o, takt_dtype from, double value)
{
    const double scale = o->scale != 0 ? o->scale : from == TAKT_U8 ? 1.0 / 255 : 1;
    return (value * scale - o->mean) / (o->deviation != 0 ? o->deviation : 1);
}

/* Bytes to f32, the most common case: by a table of 256 values, rounded as in `convert`. */
static void convert_bytes(const takt_data_place *p, size_t row, const float table[256], float *to)
{
    const uint8_t *from = (const uint8_t *)takt_tensor_data(p->tensor) + p->first + row * p->stride;
    for (size_t i = 0; i < p->size; i++)
        to[i] = table[from[i]];
}

/* Whether `convert` would leave every element unchanged. */
static bool is_kept(const takt_data_options *o, takt_dtype from, takt_dtype to)
{
    return from == to && takt_dtype_bits(to) % 8 == 0 &&
           (!takt_dtype_is_float(to) || ((o->scale == 0 || o->scale == 1) && o->mean == 0 &&
                                         (o->deviation == 0 || o->deviation == 1)));
}

static void convert(const takt_data *d, const takt_data_place *p, size_t row,
                    const takt_tensor_view *to, size_t at)
{
    const takt_dtype from = p->tensor->type.dtype;
    const void *data = takt_tensor_data(p->tensor);
    const size_t first = p->first + row * p->stride;
    const bool is_float = takt_dtype_is_float(to->dtype);
    for (size_t i = 0; i < p->size; i++) {
        if (!is_float) {
            const int64_t value = takt_dtype_is_float(from)
                                      ? (int64_t)takt_dtype_get_f(from, data, first + i)
                                      : takt_dtype_get_i(from, data, first + i);
            takt_dtype_put_i(to->dtype, to->data, at + i, value);
            continue;
        }
        const double value = takt_dtype_is_float(from)
                                 ? takt_dtype_get_f(from, data, first + i)
                                 : (double)takt_dtype_get_i(from, data, first + i);
        takt_dtype_put_f(to->dtype, to->data, at + i,
                         takt_dtype_round(to->dtype, scaled(&d->options, from, value)));
    }
}

takt_status takt_data_take(const takt_data *d, const char *field, const uint64_t *rows,
                           size_t count, const takt_tensor_view *to)
{
    TAKT_NEED(NULL, d);
    takt_data_place p;
    size_t size = 1;
    takt_ctx *ctx = d->set.ctx;
    if (!takt_data_find(d, field, &p))
        return takt_fail(ctx, TAKT_E_NAME, "the data set has no field called %s", field);
    for (int i = 1; i < to->rank; i++)
        size *= (size_t)to->dims[i];
    if (to->data == NULL || to->rank < 1 || (size_t)to->dims[0] != count || size != p.size)
        return takt_fail(ctx, TAKT_E_TRAIN_DATA,
                         "%s: a sample has %zu elements, the model takes %zu", field, p.size, size);
    const bool is_bytes = p.tensor->type.dtype == TAKT_U8 && to->dtype == TAKT_F32;
    const size_t copied = is_kept(&d->options, p.tensor->type.dtype, to->dtype)
                              ? (size_t)takt_dtype_bits(to->dtype) / 8
                              : 0;
    const char *data = takt_tensor_data(p.tensor);
    float table[256];
    for (int i = 0; i < 256; i++)
        table[i] = (float)scaled(&d->options, TAKT_U8, i);
    for (size_t i = 0; i < count; i++) {
        if (rows[i] >= d->set.samples)
            return takt_fail(ctx, TAKT_E_ARGUMENT, "there is no sample %llu: there are %llu",
                             (unsigned long long)rows[i], (unsigned long long)d->set.samples);
        if (copied > 0)
            memcpy((char *)to->data + i * p.size * copied,
                   data + (p.first + (size_t)rows[i] * p.stride) * copied, p.size * copied);
        else if (is_bytes)
            convert_bytes(&p, (size_t)rows[i], table, (float *)to->data + i * p.size);
        else
            convert(d, &p, (size_t)rows[i], to, i * p.size);
    }
    return TAKT_OK;
}
