/* form.c - pictures of another size or number of channels than a model takes.
 *
 * Sizes change by the triangle filter, which is as wide as the step is where a picture gets
 * smaller: one pass along rows, one along columns, in an order that depends on the sizes only. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/data/data.h"

/* Which samples contribute to one of the result, and their weights. */
typedef struct window {
    int64_t first, count;
    double *weight;
} window;

static int64_t most_weights(int64_t from, int64_t to)
{
    return 2 * (from / to + 2) + 2;
}

static void aim(window *w, int64_t from, int64_t to, int64_t at)
{
    const double step = (double)from / (double)to, reach = step > 1 ? step : 1;
    const double centre = ((double)at + 0.5) * step;
    const int64_t low = (int64_t)(centre - reach + 0.5), high = (int64_t)(centre + reach + 0.5);
    double sum = 0;
    w->first = low > 0 ? low : 0;
    w->count = (high < from ? high : from) - w->first;
    for (int64_t i = 0; i < w->count; i++) {
        const double far = fabs((double)(w->first + i) + 0.5 - centre) / reach;
        w->weight[i] = far < 1 ? 1 - far : 0;
        sum += w->weight[i];
    }
    for (int64_t i = 0; i < w->count; i++)
        w->weight[i] /= sum;
}

/* Resizes `from` groups of `inner` samples to `to` groups. */
static void pass(window *w, const float *x, int64_t from, float *y, int64_t to, int64_t inner)
{
    for (int64_t at = 0; at < to; at++) {
        aim(w, from, to, at);
        for (int64_t k = 0; k < inner; k++) {
            double sum = 0;
            for (int64_t i = 0; i < w->count; i++)
                sum += w->weight[i] * (double)x[(w->first + i) * inner + k];
            y[at * inner + k] = (float)sum;
        }
    }
}

static void along_rows(window *w, const float *x, const takt_form *from, float *y, int64_t rows,
                       int64_t to)
{
    for (int64_t i = 0; i < rows; i++)
        pass(w, x + i * from->width, from->width, y + i * to, to, 1);
}

/* Rows first, unless they grow while columns shrink: the intermediate image is never larger than
 * both images. */
static bool columns_first(const takt_form *from, const takt_form *to)
{
    return to->width > from->width && to->height < from->height;
}

static void plane(window *w, const float *x, const takt_form *from, float *between, float *y,
                  const takt_form *to)
{
    if (columns_first(from, to)) {
        pass(w, x, from->height, between, to->height, from->width);
        along_rows(w, between, from, y, to->height, to->width);
    } else {
        along_rows(w, x, from, between, from->height, to->width);
        pass(w, between, from->height, y, to->height, to->width);
    }
}

takt_status takt_form_resize(takt_ctx *ctx, const float *x, const takt_form *from, float *y,
                             const takt_form *to)
{
    const int64_t widest = most_weights(from->width, to->width);
    const int64_t highest = most_weights(from->height, to->height);
    const size_t weights = (size_t)(widest > highest ? widest : highest);
    const size_t most = columns_first(from, to) ? (size_t)to->height * (size_t)from->width
                                                : (size_t)from->height * (size_t)to->width;
    void *weight, *between;
    TAKT_TRY(takt_mem_zero(ctx, weights, sizeof(double), "weights of a filter", &weight));
    const takt_status status = takt_mem_zero(ctx, most, sizeof(float), "a plane", &between);
    window w = {.weight = weight};
    for (int64_t c = 0; status == TAKT_OK && c < from->channels; c++)
        plane(&w, x + c * from->height * from->width, from, between, y + c * to->height * to->width,
              to);
    if (status == TAKT_OK)
        takt_mem_put(ctx, between, most * sizeof(float));
    takt_mem_put(ctx, weight, weights * sizeof(double));
    return status;
}

/* The middle of a picture, of the proportions that are wanted, and where it begins. */
static takt_form middle_of(const takt_reform *how, size_t *first)
{
    const takt_form *own = &how->from, *to = &how->to;
    takt_form part = {to->channels, own->height, own->width};
    if (how->is_cropped && own->width * to->height > own->height * to->width)
        part.width = own->height * to->width / to->height;
    else if (how->is_cropped)
        part.height = own->width * to->height / to->width;
    part.width = part.width > 0 ? part.width : 1;
    part.height = part.height > 0 ? part.height : 1;
    *first = (size_t)((own->height - part.height) / 2 * own->width + (own->width - part.width) / 2);
    return part;
}

/* A row. Grey by the weights of ITU-R BT.601; colours from grey are three times the same. */
static void recolour(const takt_reform *how, const uint8_t *from, const takt_form *part, float *to)
{
    const size_t area = (size_t)how->from.height * (size_t)how->from.width;
    const size_t own = (size_t)part->height * (size_t)part->width;
    for (size_t i = 0; i < (size_t)part->width; i++)
        for (size_t c = 0; c < (size_t)part->channels; c++)
            to[c * own + i] = how->from.channels == part->channels ? (float)from[c * area + i]
                              : part->channels == 1
                                  ? 0.299F * (float)from[i] + 0.587F * (float)from[area + i] +
                                        0.114F * (float)from[2 * area + i]
                                  : (float)from[i];
}

static size_t count_of(const takt_form *form)
{
    return (size_t)form->channels * (size_t)form->height * (size_t)form->width;
}

takt_status takt_form_picture(takt_ctx *ctx, const takt_reform *how, const uint8_t *from,
                              uint8_t *to)
{
    size_t first;
    const takt_form part = middle_of(how, &first);
    const size_t before = count_of(&part), count = count_of(&how->to);
    void *planes, *levels;
    TAKT_TRY(takt_mem_zero(ctx, before, sizeof(float), "a picture", &planes));
    takt_status status = takt_mem_zero(ctx, count, sizeof(float), "a resized picture", &levels);
    if (status == TAKT_OK) {
        for (int64_t y = 0; y < part.height; y++)
            recolour(how, from + first + y * how->from.width, &part,
                     (float *)planes + y * part.width);
        status = takt_form_resize(ctx, planes, &part, levels, &how->to);
        for (size_t i = 0; i < count; i++)
            to[i] = (uint8_t)(((const float *)levels)[i] + 0.5F);
        takt_mem_put(ctx, levels, count * sizeof(float));
    }
    takt_mem_put(ctx, planes, before * sizeof(float));
    return status;
}
