/* train_open.c - the data set of a command, and whether it has a use for the flags about it. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "media.h"
#include "train.h"

static bool ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), end = strlen(ending);
    return length >= end && strcmp(text + length - end, ending) == 0;
}

/* Grey ones may lack the axis of channels, as those of MNIST. */
static const takt_desc *pictures_of(const takt_data *d)
{
    for (size_t i = 0; i < takt_data_field_count(d); i++) {
        const takt_desc *x = takt_data_field(d, i);
        if (x->dtype == TAKT_U8 && strcmp(x->name, "labels") != 0 &&
            (x->rank == 3 || (x->rank == 4 && (x->dims[1] == 1 || x->dims[1] == 3))))
            return x;
    }
    return NULL;
}

/* --image of data without pictures, or of arrays, which keep their size. */
static bool is_image_used(const takt_tool *t, const takt_data *d, const char *path,
                          const takt_data_options *o)
{
    const takt_desc *x = pictures_of(d);
    if (tool_text_of(t, TAKT_F_IMAGE) == NULL)
        return true;
    if (x == NULL)
        tool_usage_error(t, 1003, "leave it out; arrays of pictures are bytes, channels first",
                         "--image is for pictures: %s has none", path);
    else if (o->picture_width > 0 && (x->dims[x->rank - 1] != o->picture_width ||
                                      x->dims[x->rank - 2] != o->picture_height))
        tool_usage_error(t, 1003, "resize them before they are saved",
                         "%s has arrays of %lld x %lld: only files of pictures become %lld x %lld",
                         path, (long long)x->dims[x->rank - 1], (long long)x->dims[x->rank - 2],
                         (long long)o->picture_width, (long long)o->picture_height);
    else
        return true;
    return false;
}

/* Whether this data set has a use for the flags; otherwise printed. */
static bool is_used(const takt_tool *t, const takt_data *d, const char *path,
                    const takt_data_options *o)
{
    struct stat facts;
    const bool is_file = stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    const bool is_table =
        ends_with(path, ".csv") || ends_with(path, ".tsv") || ends_with(path, ".csv.gz");
    if (is_file && tool_text_of(t, TAKT_F_SPLIT) != NULL && !ends_with(path, ".npz"))
        tool_usage_error(t, 1003, "name the file of that part as --data",
                         "%s is one file: --split %s would take all of it", path,
                         tool_text_of(t, TAKT_F_SPLIT));
    else if (is_file && !is_table && tool_text_of(t, TAKT_F_LABEL) != NULL)
        tool_usage_error(t, 1003, "arrays have labels in a field y, label or target",
                         "%s is not a table: --label has no column to name", path);
    else if (is_file && !is_table && o->missing != NULL)
        tool_usage_error(t, 1003, "`takt data` shows samples that are not finite",
                         "%s is not a table: --missing has no cells to look at", path);
    else
        return is_image_used(t, d, path, o);
    return false;
}

/* Pictures of other sizes than the model's are resized, as `takt run` does; a model that takes any
 * gets those of size=. */
static void ask_for_form(const takt_model *m, const media_image *how, takt_data_options *o)
{
    const takt_desc *d = m != NULL && takt_model_input_count(m) > 0 ? takt_model_input(m, 0) : NULL;
    if (d == NULL || d->rank != 4 || (d->dims[1] != 1 && d->dims[1] != 3))
        return;
    const int64_t height = d->dims[2] > 0 ? d->dims[2] : how->height;
    const int64_t width = d->dims[3] > 0 ? d->dims[3] : how->width;
    if (height <= 0 || width <= 0)
        return;
    o->picture_channels = d->dims[1];
    o->picture_height = height;
    o->picture_width = width;
}

/* A text is cut into as many characters as the model takes, if their number is fixed. */
static int64_t usual_window(const takt_model *m)
{
    const takt_desc *d = m != NULL && takt_model_input_count(m) > 0 ? takt_model_input(m, 0) : NULL;
    const bool has_numbers = d != NULL && (d->dtype == TAKT_I64 || d->dtype == TAKT_I32);
    return has_numbers && d->rank == 2 && d->dims[1] > 0 ? d->dims[1] : 0;
}

/* --image, of which `takt run` takes more. */
static bool take_image_flag(const takt_tool *t, const takt_model *m, takt_data_options *o)
{
    media_image how = {0};
    if (tool_text_of(t, TAKT_F_IMAGE) != NULL && !media_read_options(t, &how))
        return false;
    ask_for_form(m, &how, o);
    if (tool_text_of(t, TAKT_F_IMAGE) == NULL)
        return true;
    const bool is_sized =
        how.width > 0 && (how.width != o->picture_width || how.height != o->picture_height);
    if (how.fit == MEDIA_PAD || is_sized || how.is_bgr || how.is_inverted) {
        tool_usage_error(t, 1003, "the size is that of the model's input, unless it takes any",
                         "--image of a data set takes mean, std, scale, size, imagenet, tf and "
                         "fit=crop");
        return false;
    }
    o->picture_crop = how.fit == MEDIA_CROP;
    o->scale = how.scale;
    for (int c = 0; c < MEDIA_CHANNELS; c++) {
        o->picture_mean[c] = how.mean[c];
        o->picture_deviation[c] = how.deviation[c];
    }
    return true;
}

static void tell_form(const takt_tool *t, const takt_data *d, const takt_data_options *o)
{
    const uint64_t count = takt_data_reformed(d);
    if (count > 0 && !tool_on(t, TAKT_F_QUIET))
        fprintf(stderr,
                "takt: %llu picture%s resized to [%lld, %lld, %lld], which the model takes\n",
                (unsigned long long)count, count == 1 ? " was" : "s were",
                (long long)o->picture_channels, (long long)o->picture_height,
                (long long)o->picture_width);
}

/* Classes are numbered by the words that occur: one that is missing shifts those after it. */
static void tell_classes(const takt_tool *t, const takt_model *m, const takt_data *d)
{
    const takt_desc *out =
        m != NULL && takt_model_output_count(m) > 0 ? takt_model_output(m, 0) : NULL;
    const int64_t classes = takt_data_classes(d);
    const int64_t outputs = out != NULL && out->rank > 1 ? out->dims[out->rank - 1] : 0;
    if (takt_data_class_name(d, 0) == NULL || classes >= outputs || tool_on(t, TAKT_F_QUIET))
        return;
    fprintf(
        stderr,
        "note: the data has %lld classes (%s to %s), the model %lld outputs; class numbers differ "
        "if the model was trained on other classes\n",
        (long long)classes, takt_data_class_name(d, 0), takt_data_class_name(d, classes - 1),
        (long long)outputs);
}

/* --limit is the most, so that one command suits data of any size. */
static void tell_limit(const takt_tool *t, const takt_data *d, const char *path)
{
    const uint64_t limit = tool_number_of(t, TAKT_F_SAMPLES, 0), count = takt_data_count(d);
    if (limit > count && !tool_on(t, TAKT_F_QUIET))
        fprintf(stderr, "takt: --limit %llu: %s has %llu sample%s, which %s taken\n",
                (unsigned long long)limit, path, (unsigned long long)count, count == 1 ? "" : "s",
                count == 1 ? "is" : "are all");
}

takt_data *tool_open_data(takt_tool *t, const takt_model *m, int *code)
{
    const char *path = tool_text_of(t, TAKT_F_DATA_SET);
    char found[TOOL_DATA_PATH];
    takt_data *data = NULL;
    takt_data_options options = {.split = tool_text_of(t, TAKT_F_SPLIT),
                                 .limit = tool_number_of(t, TAKT_F_SAMPLES, 0),
                                 .label = tool_text_of(t, TAKT_F_LABEL),
                                 .usual_window = usual_window(m),
                                 .missing = tool_text_of(t, TAKT_F_MISSING),
                                 .window = (int64_t)tool_number_of(t, TAKT_F_WINDOW, 0)};
    if (path == NULL && t->arg_count > 0 && t->verb->arg_max == 1 &&
        strcmp(t->verb->name, "data") == 0)
        path = t->args[0];
    if (path == NULL) {
        *code = tool_usage_error(t, 1003,
                                 "write --data with a file, a folder, or a name that `takt data "
                                 "--list` prints",
                                 "there is no data to work on");
        return NULL;
    }
    tool_data_place *place = malloc(sizeof *place); /* too large for the stack */
    if (place == NULL) {
        *code = tool_finish(t, TAKT_ERR_MEMORY);
        return NULL;
    }
    *code = TAKT_EXIT_USAGE;
    const bool is_found = take_image_flag(t, m, &options) && tool_data_find(t, path, found) &&
                          tool_data_cache(t, found, place, &options);
    if (is_found)
        *code = tool_finish(t, takt_data_open(t->ctx, found, &options, &data));
    free(place);
    if (!is_found)
        return NULL;
    tell_form(t, data, &options);
    if (data != NULL && !is_used(t, data, found, &options)) {
        *code = TAKT_EXIT_USAGE;
        takt_data_destroy(data);
        data = NULL;
    } else if (data != NULL) {
        tell_limit(t, data, found);
        tell_classes(t, m, data);
    } else if (strcmp(t->verb->name, "data") == 0) {
        tool_data_bad(t, found);
    }
    return data;
}
