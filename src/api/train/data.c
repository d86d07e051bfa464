/* data.c - data sets: opening them and taking samples out of them. */
#include "api/train/data.h"

#include <string.h>

#include "api/model.h"
#include "base/mem.h"
#include "base/options.h"
#include "io/file.h"
#include "io/inflate.h"
#include "os/folder.h"

enum { WINDOW = 64 }; /* characters of a text, if nothing is said */

/* ---- files ---- */

static int64_t window_of(const takt_data *d)
{
    const takt_data_options *o = &d->options;
    return o->window > 0 ? o->window : o->usual_window > 0 ? o->usual_window : WINDOW;
}

static bool is_for_tests(const takt_data *d)
{
    return d->options.split != NULL && strcmp(d->options.split, "test") == 0;
}

static takt_status read_with(takt_data_set *set, const takt_data_file *file)
{
    for (size_t i = 0; takt_data_readers[i] != NULL; i++)
        if (takt_data_readers[i]->recognises(file)) {
            set->format = takt_data_readers[i]->name;
            return takt_data_read(set, file, takt_data_readers[i]);
        }
    return takt_data_unknown(set, file);
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
                                 .is_test = is_for_tests(d),
                                 .label = d->options.label,
                                 .missing = d->options.missing,
                                 .window = window_of(d)};
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
                                        "data_batch_1.bin"};
    static const char *const test[] = {"t10k-images-idx3-ubyte",
                                       "t10k-labels-idx1-ubyte",
                                       "t10k-images.idx3-ubyte",
                                       "t10k-labels.idx1-ubyte",
                                       "test.npz",
                                       "test.csv",
                                       "test_batch.bin"};
    const bool is_test = is_for_tests(d);
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

static takt_status read_texts(takt_data *d, const char *folder, bool *found)
{
    const takt_data_file file = {
        .path = folder, .is_test = is_for_tests(d), .window = window_of(d)};
    return takt_data_read_texts(&d->set, &file, found);
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

static takt_status fail_counts(const takt_data_set *set, const char *path, size_t i)
{
    takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s: %s has %llu samples, %s has %lld", path,
              set->field[0].name, (unsigned long long)set->samples, set->field[i].name,
              (long long)set->field[i].tensor.type.dim[0]);
    return takt_fail_hint(set->ctx, "one of them is cut off, or belongs to another data set");
}

static takt_status no_window(const takt_data_set *set, const char *path)
{
    takt_fail(set->ctx, TAKT_E_TRAIN_DATA, "%s: windows are for plain text, this is %s", path,
              set->format);
    return takt_fail_hint(set->ctx,
                          "leave out --window; samples of other data have a size of their own");
}

static takt_status check_fields(takt_data *d, const char *path)
{
    takt_data_set *set = &d->set;
    const takt_data_file file = {.path = path};
    if (set->count == 0)
        return takt_data_fail(set, &file, "it holds no samples");
    set->samples = (uint64_t)set->field[0].tensor.type.dim[0];
    for (size_t i = 0; i < set->count; i++)
        if (takt_tensor_count(&set->field[i].tensor) == 0)
            return takt_data_fail(set, &file, "%s has no elements", set->field[i].name);
    for (size_t i = 1; i < set->count; i++)
        if ((uint64_t)set->field[i].tensor.type.dim[0] != set->samples)
            return fail_counts(set, path, i);
    if (set->window > 0)
        set->samples = (set->samples - 1) / (uint64_t)set->window;
    else if (d->options.window > 0)
        return no_window(set, path);
    if (d->options.limit > 0 && d->options.limit < set->samples)
        set->samples = d->options.limit;
    if (set->samples == 0)
        return takt_data_fail(set, &file, "it holds no samples");
    for (size_t i = 0; i < set->count; i++) {
        TAKT_TRY(describe_field(d, set->field[i].name, &set->field[i].tensor));
        if (strcmp(set->field[i].name, "labels") == 0)
            set->classes = class_count(&set->field[i]);
    }
    return set->window > 0 ? describe_field(d, "labels", &set->field[0].tensor) : TAKT_OK;
}

/* The same, with a hint for what has none of its own. */
static takt_status check(takt_data *d, const char *path)
{
    const takt_status status = check_fields(d, path);
    if (status != TAKT_ERR_FORMAT || takt_last_error_info(d->set.ctx)->hint[0] != '\0')
        return status;
    return takt_fail_hint(d->set.ctx,
                          "samples are the first axis of an array, the lines of a table "
                          "after its names, or files of one kind");
}

static bool ignore(void *user, const char *name, bool is_folder)
{
    (void)user;
    (void)name;
    return is_folder;
}

static takt_status no_data_in(takt_data *d, const char *folder)
{
    const bool is_test = is_for_tests(d);
    takt_fail(d->set.ctx, TAKT_E_TRAIN_DATA, "%s: the folder has no %s data", folder,
              is_test ? "test" : "training");
    return takt_fail_hint(
        d->set.ctx,
        "it may have files of MNIST or CIFAR-10, %s.npz or .csv, a folder for "
        "each class with pictures (PNG, JPEG, PGM, PPM) or sounds (WAV), which a "
        ".tsv file can list with their labels instead, %s.txt, or .txt files alone",
        is_test ? "test" : "train", is_test ? "test" : "train");
}

static takt_status decode(takt_data *d, const char *path)
{
    bool found = false;
    if (!takt_data_exists(d->set.ctx, path)) {
        TAKT_TRY(read_folder(d, path, &found));
        if (!found)
            TAKT_TRY(read_classes(d, path, &found));
        if (!found)
            TAKT_TRY(read_texts(d, path, &found));
        if (!found && takt_folder_each(path, ignore, NULL))
            return no_data_in(d, path);
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
    d->path = takt_arena_text(&d->set.arena, path, strlen(path));
    return d->path != NULL ? check(d, path) : TAKT_ERR_MEMORY;
}

static takt_status check_form(takt_ctx *ctx, const takt_data_options *o)
{
    enum { MOST = 1 << 16 };
    const int64_t channels = o->picture_channels;
    const bool is_none = channels == 0 && o->picture_height == 0 && o->picture_width == 0;
    if (is_none || ((channels == 1 || channels == 3) && o->picture_height > 0 &&
                    o->picture_height <= MOST && o->picture_width > 0 && o->picture_width <= MOST))
        return TAKT_OK;
    return takt_fail(ctx, TAKT_E_OPTION,
                     "pictures have 1 or 3 channels and sizes up to %d, not %lld, %lld, %lld", MOST,
                     (long long)channels, (long long)o->picture_height,
                     (long long)o->picture_width);
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
    TAKT_TRY(check_form(ctx, &own));
    TAKT_TRY(takt_mem_zero(ctx, 1, sizeof(takt_data), "data set", &block));
    takt_data *d = block;
    d->set.ctx = ctx;
    d->set.form = (takt_form){own.picture_channels, own.picture_height, own.picture_width};
    d->set.is_cropped = own.picture_crop;
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
