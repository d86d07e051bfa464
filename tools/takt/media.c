/* media.c - converts an image or a recording to the input of a model.
 *
 * Images are decoded by the readers of data sets, resized, and laid out as the input's shape says:
 * channels first or last, or a row of pixels. The preprocessing is printed, because a model that
 * was trained with different numbers answers anyway.
 */
#include "media.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct job {
    takt_tool *t;
    const takt_desc *d;
    const char *path;
    media_image how;
    media_planes image;
    int64_t width, height, channels; /* of the input */
    int channel_axis;                /* of the input; -1: there is none */
    int64_t source_width, source_height, source_channels;
    takt_tensor_view *view;
} job;

bool tool_is_media(const char *path)
{
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".wav"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && strcasecmp(path + length - end, endings[i]) == 0)
            return true;
    }
    return false;
}

static bool has_channels(const takt_desc *d, int axis)
{
    return !media_is_open(d, axis) && (d->dims[axis] == 1 || d->dims[axis] == 3);
}

static int refuse(const job *j, const char *what)
{
    return media_refuse(&(media_file){.t = j->t, .d = j->d, .path = j->path}, what);
}

/* ---- where the pixels go ---- */

/* The side of a square of `count` pixels, or 0. */
static int64_t side_of(int64_t count)
{
    const int64_t side = (int64_t)llround(sqrt((double)count));
    return side * side == count ? side : 0;
}

/* A row of pixels, as models without convolutions take them: a square. */
static bool place_row(job *j, int axis)
{
    const int64_t count = media_is_open(j->d, axis) ? 0 : j->d->dims[axis];
    j->channels = side_of(count) > 0 ? 1 : MEDIA_CHANNELS;
    j->width = j->height = side_of(count / j->channels);
    j->channel_axis = -1;
    return j->width > 0 && j->width * j->height * j->channels == count;
}

static int64_t size_at(const job *j, int axis, int64_t asked, int64_t own)
{
    return !media_is_open(j->d, axis) ? j->d->dims[axis] : asked > 0 ? asked : own;
}

/* [batch, channels, height, width], [batch, height, width, channels], without the first or without
 * channels, or [batch, pixels]. */
static bool place(job *j)
{
    const takt_desc *d = j->d;
    const int rank = d->rank, first = rank > 3 ? 1 : 0;
    const bool is_first = rank >= 3 && has_channels(d, rank - 3);
    const bool is_last = rank >= 3 && !is_first && has_channels(d, rank - 1);
    if (rank < 1 || rank > 4 || (rank == 4 && !is_first && !is_last))
        return false;
    if (rank <= 2 && (rank == 1 || media_is_open(d, 0) || d->dims[0] == 1))
        return place_row(j, rank - 1);
    const int row = is_last ? first : rank - 2;
    j->channel_axis = is_first ? rank - 3 : is_last ? rank - 1 : -1;
    j->channels = j->channel_axis >= 0 ? d->dims[j->channel_axis] : 1;
    j->height = size_at(j, row, j->how.height, j->source_height);
    j->width = size_at(j, row + 1, j->how.width, j->source_width);
    return j->height > 0 && j->width > 0 && j->height <= 1 << 16 && j->width <= 1 << 16;
}

/* If the first axis counts images, its size is 1. */
static bool is_single(const job *j)
{
    const bool has_batch = j->d->rank == 4 || (j->d->rank == 3 && j->channel_axis < 0);
    return !has_batch || media_is_open(j->d, 0) || j->d->dims[0] == 1;
}

/* ---- colours and sizes ---- */

/* Grey by the weights of ITU-R BT.601; colours from grey are three times the same. */
static bool recolour(job *j)
{
    const size_t area = (size_t)(j->image.width * j->image.height);
    float *to = malloc((size_t)j->channels * area * sizeof *to);
    if (to == NULL)
        return false;
    for (size_t i = 0; i < area; i++) {
        const float *from = j->image.at + i;
        if (j->image.channels == j->channels) {
            for (size_t c = 0; c < (size_t)j->channels; c++)
                to[c * area + i] = from[(j->how.is_bgr ? (size_t)j->channels - 1 - c : c) * area];
        } else if (j->channels == 1) {
            to[i] = 0.299F * from[0] + 0.587F * from[area] + 0.114F * from[2 * area];
        } else {
            for (size_t c = 0; c < (size_t)j->channels; c++)
                to[c * area + i] = from[0];
        }
    }
    free(j->image.at);
    j->image.at = to;
    j->image.channels = j->channels;
    return true;
}

/* The middle of the image, of the input's proportions. */
static void crop(job *j)
{
    media_planes *p = &j->image;
    int64_t width = p->width, height = p->height;
    if (width * j->height > height * j->width)
        width = height * j->width / j->height;
    else
        height = width * j->height / j->width;
    width = width > 0 ? width : 1;
    height = height > 0 ? height : 1;
    const int64_t left = (p->width - width) / 2, top = (p->height - height) / 2;
    float *to = p->at;
    for (int64_t c = 0; c < p->channels; c++)
        for (int64_t y = 0; y < height; y++, to += width)
            memmove(to, p->at + (c * p->height + top + y) * p->width + left,
                    (size_t)width * sizeof *to);
    p->width = width;
    p->height = height;
}

static bool resize_to(job *j, int64_t height, int64_t width)
{
    if (j->image.width == width && j->image.height == height)
        return true;
    float *to = media_resize(j->t, &j->image, height, width);
    if (to == NULL)
        return false;
    free(j->image.at);
    j->image.at = to;
    j->image.width = width;
    j->image.height = height;
    return true;
}

/* Fits the whole image in the middle, with black borders. */
static bool pad(job *j)
{
    const double across = (double)j->width / (double)j->image.width;
    const double down = (double)j->height / (double)j->image.height;
    const double scale = across < down ? across : down;
    int64_t width = llround((double)j->image.width * scale);
    int64_t height = llround((double)j->image.height * scale);
    width = width < 1 ? 1 : width > j->width ? j->width : width;
    height = height < 1 ? 1 : height > j->height ? j->height : height;
    float *to = calloc((size_t)(j->channels * j->height * j->width), sizeof *to);
    if (to == NULL || !resize_to(j, height, width)) {
        free(to);
        return false;
    }
    const int64_t left = (j->width - width) / 2, top = (j->height - height) / 2;
    for (int64_t c = 0; c < j->channels; c++)
        for (int64_t y = 0; y < height; y++)
            memcpy(to + (c * j->height + top + y) * j->width + left,
                   j->image.at + (c * height + y) * width, (size_t)width * sizeof *to);
    free(j->image.at);
    j->image = (media_planes){j->channels, j->height, j->width, to};
    return true;
}

static bool fit(job *j)
{
    if (j->how.fit == MEDIA_PAD)
        return pad(j);
    if (j->how.fit == MEDIA_CROP)
        crop(j);
    return resize_to(j, j->height, j->width);
}

/* ---- the input ---- */

static void set_shape(const job *j, takt_tensor_view *v)
{
    const int rank = j->d->rank;
    *v = (takt_tensor_view){.dtype = j->d->dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        v->dims[i] = media_is_open(j->d, i) ? 1 : j->d->dims[i];
    if (j->channel_axis < 0 &&
        (rank == 1 || j->width * j->height * j->channels == v->dims[rank - 1]))
        return;
    const int row = j->channel_axis == rank - 1 ? rank - 3 : rank - 2;
    v->dims[row] = j->height;
    v->dims[row + 1] = j->width;
}

static double level(const job *j, size_t channel, float value)
{
    const double shown = j->how.is_inverted ? 255 - (double)value : (double)value;
    return (shown * j->how.scale - j->how.mean[channel]) / j->how.deviation[channel];
}

static bool put(const job *j, size_t at, double value)
{
    if (j->d->dtype == TAKT_U8)
        ((uint8_t *)j->view->data)[at] = (uint8_t)lrint(value < 0 ? 0 : value > 255 ? 255 : value);
    else if (j->d->dtype == TAKT_F32)
        ((float *)j->view->data)[at] = (float)value;
    else
        return false;
    return true;
}

static int fill(job *j)
{
    const size_t area = (size_t)(j->width * j->height), channels = (size_t)j->channels;
    const bool is_last = j->channel_axis >= 0 && j->channel_axis == j->d->rank - 1;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < area; i++)
            if (!put(j, is_last ? i * channels + c : c * area + i,
                     level(j, c, j->image.at[c * area + i])))
                return refuse(j, "images become f32 or u8");
    return TAKT_EXIT_OK;
}

static char *describe(const job *j)
{
    static const char *const fits[] = {"stretched", "its middle resized", "resized and padded"};
    char *text = malloc(512), sizes[96] = "", values[96] = "", means[160] = "";
    if (text == NULL)
        return NULL;
    if (j->source_width != j->width || j->source_height != j->height)
        snprintf(sizes, sizeof sizes, ", %s to %lld x %lld", fits[j->how.fit], (long long)j->width,
                 (long long)j->height);
    if (j->how.scale < 1)
        snprintf(values, sizeof values, ", levels over %g", 1 / j->how.scale);
    else if (j->how.scale > 1)
        snprintf(values, sizeof values, ", levels times %g", j->how.scale);
    if (!media_is_plain(&j->how))
        snprintf(means, sizeof means, ", minus %g %g %g, over %g %g %g", j->how.mean[0],
                 j->how.mean[1], j->how.mean[2], j->how.deviation[0], j->how.deviation[1],
                 j->how.deviation[2]);
    snprintf(text, 512, "%lld x %lld %s%s%s%s%s%s", (long long)j->source_width,
             (long long)j->source_height, j->source_channels == 1 ? "grey" : "RGB",
             j->source_channels == j->channels ? (j->how.is_bgr ? " as BGR" : "")
             : j->channels == 1                ? " as grey"
                                               : " as RGB",
             sizes, j->how.is_inverted ? ", inverted" : "", values, means);
    return text;
}

static int load_image(job *j, const takt_tensor_view *raw, char **said)
{
    j->source_channels = raw->dims[1];
    j->source_height = raw->dims[2];
    j->source_width = raw->dims[3];
    j->image = (media_planes){raw->dims[1], raw->dims[2], raw->dims[3], NULL};
    const size_t count = (size_t)(raw->dims[1] * raw->dims[2] * raw->dims[3]);
    if (j->d->dtype == TAKT_U8 && !media_is_plain(&j->how))
        return refuse(j, "levels have no mean and deviation");
    if (j->how.scale == 0.0)
        j->how.scale = j->d->dtype == TAKT_U8 ? 1 : 1.0 / 255;
    if (!place(j))
        return refuse(j, "no channels of 1 or 3 and sizes that an image could have");
    if (!is_single(j))
        return refuse(j, "a batch of several, and this is one image");
    /* First, so that a size beyond --max-ram is refused before any work. */
    set_shape(j, j->view);
    const takt_status status = takt_view_alloc(j->t->ctx, j->view);
    if (status != TAKT_OK)
        return tool_finish(j->t, status);
    j->image.at = malloc(count * sizeof *j->image.at);
    bool is_good = j->image.at != NULL;
    if (is_good) {
        memcpy(j->image.at, raw->data, count * sizeof *j->image.at);
        is_good = recolour(j) && fit(j);
    }
    int code = is_good ? fill(j) : tool_finish(j->t, TAKT_ERR_MEMORY);
    free(j->image.at);
    if (code == TAKT_EXIT_OK && (*said = describe(j)) == NULL)
        code = tool_finish(j->t, TAKT_ERR_MEMORY);
    return code;
}

int tool_load_media(const media_file *f, takt_tensor_view *view, char **said)
{
    job j = {.t = f->t, .d = f->d, .path = f->path, .view = view};
    takt_tensor_view raw;
    int64_t rate;
    if (!media_read_options(f->t, &j.how))
        return TAKT_EXIT_USAGE;
    const takt_status status = media_decode(f->t, f->path, &raw, &rate);
    if (status != TAKT_OK)
        return tool_finish(f->t, status);
    const bool is_image = raw.rank == 4;
    int code;
    if (is_image == media_is_sound(f->path) || (!is_image && raw.rank != 2))
        code = media_misnamed(f->t, f->path);
    else
        code = is_image ? load_image(&j, &raw, said) : media_take_sound(f, &raw, rate, view, said);
    takt_view_free(f->t->ctx, &raw);
    return code;
}
