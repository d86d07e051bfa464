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
static bool has_pictures(const takt_data *d)
{
    for (size_t i = 0; i < takt_data_field_count(d); i++) {
        const takt_desc *x = takt_data_field(d, i);
        if (x->dtype == TAKT_U8 && strcmp(x->name, "labels") != 0 &&
            (x->rank == 3 || (x->rank == 4 && (x->dims[1] == 1 || x->dims[1] == 3))))
            return true;
    }
    return false;
}

/* Whether this data set has a use for the flags; otherwise printed. */
static bool is_used(const takt_tool *t, const takt_data *d, const char *path)
{
    struct stat facts;
    const bool is_file = stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    const bool is_table =
        ends_with(path, ".csv") || ends_with(path, ".tsv") || ends_with(path, ".csv.gz");
    const uint64_t limit = tool_number_of(t, TAKT_F_SAMPLES, 0), count = takt_data_count(d);
    if (limit > count)
        tool_usage_error(t, 1003, "leave it out to use all", "--limit %llu: %s has %llu sample%s",
                         (unsigned long long)limit, path, (unsigned long long)count,
                         count == 1 ? "" : "s");
    else if (is_file && tool_text_of(t, TAKT_F_SPLIT) != NULL && !ends_with(path, ".npz"))
        tool_usage_error(t, 1003, "name the file of that part as --data",
                         "%s is one file: --split %s would take all of it", path,
                         tool_text_of(t, TAKT_F_SPLIT));
    else if (tool_text_of(t, TAKT_F_IMAGE) != NULL && !has_pictures(d))
        tool_usage_error(t, 1003, "leave it out", "--image is for pictures: %s has none", path);
    else if (is_file && !is_table && tool_text_of(t, TAKT_F_LABEL) != NULL)
        tool_usage_error(t, 1003, "arrays have labels in a field y, label or target",
                         "%s is not a table: --label has no column to name", path);
    else
        return true;
    return false;
}

/* Pictures of other sizes than the model's are resized, as `takt run` does. */
static void ask_for_form(const takt_model *m, takt_data_options *o)
{
    const takt_desc *d = m != NULL && takt_model_input_count(m) > 0 ? takt_model_input(m, 0) : NULL;
    if (d == NULL || d->rank != 4 || (d->dims[1] != 1 && d->dims[1] != 3) || d->dims[2] <= 0 ||
        d->dims[3] <= 0)
        return;
    o->picture_channels = d->dims[1];
    o->picture_height = d->dims[2];
    o->picture_width = d->dims[3];
}

/* --image, of which `takt run` takes more. */
static bool take_image_flag(const takt_tool *t, takt_data_options *o)
{
    media_image how;
    if (tool_text_of(t, TAKT_F_IMAGE) == NULL)
        return true;
    if (!media_read_options(t, &how))
        return false;
    if (how.fit == MEDIA_PAD || how.width > 0 || how.is_bgr || how.is_inverted) {
        tool_usage_error(t, 1003, "the size is that of the model's input",
                         "--image of a data set takes mean, std, scale, imagenet, tf and fit=crop");
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

takt_data *tool_open_data(takt_tool *t, const takt_model *m, int *code)
{
    const char *path = tool_text_of(t, TAKT_F_DATA_SET);
    char found[TOOL_DATA_PATH];
    takt_data *data = NULL;
    takt_data_options options = {.split = tool_text_of(t, TAKT_F_SPLIT),
                                 .limit = tool_number_of(t, TAKT_F_SAMPLES, 0),
                                 .label = tool_text_of(t, TAKT_F_LABEL),
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
    ask_for_form(m, &options);
    const bool is_found = take_image_flag(t, &options) && tool_data_find(t, path, found) &&
                          tool_data_cache(t, found, place, &options);
    if (is_found)
        *code = tool_finish(t, takt_data_open(t->ctx, found, &options, &data));
    free(place);
    if (!is_found)
        return NULL;
    tell_form(t, data, &options);
    if (data != NULL && !is_used(t, data, found)) {
        *code = TAKT_EXIT_USAGE;
        takt_data_destroy(data);
        data = NULL;
    } else if (data == NULL && strcmp(t->verb->name, "data") == 0) {
        tool_data_bad(t, found);
    }
    return data;
}
