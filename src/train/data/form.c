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

/* Grey by the weights of ITU-R BT.601; colours from grey are three times the same. */
static void recolour(const uint8_t *from, int64_t channels, size_t area, float *to, int64_t wanted)
{
    for (size_t i = 0; i < area; i++)
        for (int64_t c = 0; c < wanted; c++)
            to[(size_t)c * area + i] = channels == wanted ? (float)from[(size_t)c * area + i]
                                       : wanted == 1      ? 0.299F * (float)from[i] +
                                                           0.587F * (float)from[area + i] +
                                                           0.114F * (float)from[2 * area + i]
                                                     : (float)from[i];
}

takt_status takt_form_picture(takt_ctx *ctx, const uint8_t *from, const takt_form *own, uint8_t *to,
                              const takt_form *wanted)
{
    const size_t area = (size_t)own->height * (size_t)own->width;
    const size_t count = (size_t)wanted->channels * (size_t)wanted->height * (size_t)wanted->width;
    const takt_form coloured = {wanted->channels, own->height, own->width};
    const size_t before = (size_t)wanted->channels * area;
    void *planes, *levels;
    TAKT_TRY(takt_mem_zero(ctx, before, sizeof(float), "a picture", &planes));
    takt_status status = takt_mem_zero(ctx, count, sizeof(float), "a resized picture", &levels);
    if (status == TAKT_OK) {
        recolour(from, own->channels, area, planes, wanted->channels);
        status = takt_form_resize(ctx, planes, &coloured, levels, wanted);
        for (size_t i = 0; i < count; i++)
            to[i] = (uint8_t)(((const float *)levels)[i] + 0.5F);
        takt_mem_put(ctx, levels, count * sizeof(float));
    }
    takt_mem_put(ctx, planes, before * sizeof(float));
    return status;
}
