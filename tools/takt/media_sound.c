/* media_sound.c - recordings as inputs of a model, and functions shared with images. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "media.h"

bool media_is_sound(const char *path)
{
    return strcasecmp(path + strlen(path) - 4, ".wav") == 0;
}

bool media_is_open(const takt_desc *d, int axis)
{
    return d->dim_names[axis] != NULL;
}

int media_misnamed(const takt_tool *t, const char *path)
{
    return tool_usage_error(t, 1003, "the contents say what a file is, not its name",
                            "%s is not what its name says", path);
}

int media_refuse(const media_file *f, const char *what)
{
    char shape[160] = "";
    for (int i = 0; i < f->d->rank; i++) {
        const size_t length = strlen(shape);
        const char *before = i > 0 ? ", " : "";
        if (media_is_open(f->d, i))
            snprintf(shape + length, sizeof shape - length, "%s%.30s", before, f->d->dim_names[i]);
        else
            snprintf(shape + length, sizeof shape - length, "%s%lld", before,
                     (long long)f->d->dims[i]);
    }
    return tool_usage_error(f->t, 1003, "make an .npy file of it, which can have any shape",
                            "%s cannot be input %s, %s[%s]: %s", f->path, f->d->name,
                            takt_dtype_name(f->d->dtype), shape, what);
}

takt_status media_decode(const takt_tool *t, const char *path, takt_tensor_view *raw, int64_t *rate)
{
    takt_data *data;
    const uint64_t row = 0;
    takt_status status = takt_data_open(t->ctx, path, &(takt_data_options){.scale = 1}, &data);
    if (status != TAKT_OK)
        return status;
    const takt_desc *field = takt_data_field(data, 0);
    *rate = takt_data_rate(data);
    *raw = (takt_tensor_view){.dtype = TAKT_F32, .rank = field->rank};
    memcpy(raw->dims, field->dims, sizeof raw->dims);
    status = takt_view_alloc(t->ctx, raw);
    if (status == TAKT_OK)
        status = takt_data_take(data, field->name, &row, 1, raw);
    if (status != TAKT_OK)
        takt_view_free(t->ctx, raw);
    takt_data_destroy(data);
    return status;
}

/* The last dimension is time; the others are 1. */
static bool takes_sound(const takt_desc *d)
{
    bool is_good = d->rank >= 1 && d->rank <= 3 && d->dtype == TAKT_F32;
    for (int i = 0; is_good && i + 1 < d->rank; i++)
        is_good = media_is_open(d, i) || d->dims[i] == 1;
    return is_good;
}

static int refuse_sound(const media_file *f)
{
    return media_refuse(f, "a recording needs f32, time as last dimension and 1 for all others");
}

size_t media_describe_sound(char text[static MEDIA_SAID], int64_t samples, int64_t rate)
{
    const char *const plural = samples == 1 ? "" : "s";
    const int length =
        rate > 0
            ? snprintf(text, MEDIA_SAID, "%lld sample%s at %lld Hz, from -1 to 1",
                       (long long)samples, plural, (long long)rate)
            : snprintf(text, MEDIA_SAID, "%lld sample%s from -1 to 1", (long long)samples, plural);
    return (size_t)length;
}

int media_check_rate(takt_tool *t, const takt_model *m, const char *path, int64_t rate)
{
    const double wanted = takt_model_sample_rate(m);
    char hint[80];
    if (rate == 0 || wanted == 0 || (double)rate == wanted)
        return TAKT_EXIT_OK;
    snprintf(hint, sizeof hint, "ffmpeg -i OLD.wav -ar %g NEW.wav converts it", wanted);
    return tool_usage_error(t, 1003, hint, "%s was recorded at %lld Hz; the model expects %g Hz",
                            path, (long long)rate, wanted);
}

int media_take_sound(const media_file *f, const takt_tensor_view *raw, int64_t rate,
                     takt_tensor_view *view, char **said)
{
    const takt_desc *d = f->d;
    const int64_t own = raw->dims[1];
    if (!takes_sound(d))
        return refuse_sound(f);
    const int code = media_check_rate(f->t, f->model, f->path, rate);
    if (code != TAKT_EXIT_OK)
        return code;
    const int64_t wanted = media_is_open(d, d->rank - 1) ? own : d->dims[d->rank - 1];
    *view = (takt_tensor_view){.dtype = TAKT_F32, .rank = d->rank, .dims = {1, 1, 1}};
    view->dims[d->rank - 1] = wanted;
    const takt_status status = takt_view_alloc(f->t->ctx, view);
    if (status != TAKT_OK)
        return tool_finish(f->t, status);
    const int64_t kept = own < wanted ? own : wanted;
    memset(view->data, 0, (size_t)wanted * sizeof(float));
    memcpy(view->data, raw->data, (size_t)kept * sizeof(float));
    char *text = malloc(MEDIA_SAID);
    if (text == NULL)
        return tool_finish(f->t, TAKT_ERR_MEMORY);
    const size_t length = media_describe_sound(text, own, rate);
    snprintf(text + length, MEDIA_SAID - length, "%s",
             own == wanted  ? ""
             : own < wanted ? ", then zeros to the input's length"
                            : ", cut to the input's length");
    *said = text;
    return TAKT_EXIT_OK;
}

int tool_load_sound(const media_file *f, takt_tensor_view *sound, int64_t *rate)
{
    if (!tool_is_media(f->path) || !media_is_sound(f->path))
        return tool_usage_error(f->t, 1003, "--stream takes a .wav file", "%s is not a recording",
                                f->path);
    if (!takes_sound(f->d))
        return refuse_sound(f);
    const takt_status status = media_decode(f->t, f->path, sound, rate);
    if (status != TAKT_OK)
        return tool_finish(f->t, status);
    return sound->rank == 2 ? media_check_rate(f->t, f->model, f->path, *rate)
                            : media_misnamed(f->t, f->path);
}
