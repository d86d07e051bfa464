/* media_resize.c - images of other sizes: one pass along rows, one along columns. */
#include <math.h>
#include <stdlib.h>

#include "media.h"

/* Which samples contribute to one of the result, and their weights. */
typedef struct window {
    int64_t first, count;
    double weight[];
} window;

static window *window_of(int64_t from, int64_t to, int64_t at, window *w)
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
    return w;
}

/* Resizes `from` groups of `inner` samples to `to` groups. */
static bool pass(const float *x, int64_t from, float *y, int64_t to, int64_t inner)
{
    const int64_t room = 2 * (from / to + 2) + 2;
    window *w = malloc(sizeof *w + (size_t)room * sizeof *w->weight);
    for (int64_t at = 0; w != NULL && at < to; at++) {
        window_of(from, to, at, w);
        for (int64_t k = 0; k < inner; k++) {
            double sum = 0;
            for (int64_t i = 0; i < w->count; i++)
                sum += w->weight[i] * (double)x[(w->first + i) * inner + k];
            y[at * inner + k] = (float)sum;
        }
    }
    const bool is_good = w != NULL;
    free(w);
    return is_good;
}

static bool along_rows(const float *x, int64_t rows, int64_t from, float *y, int64_t to)
{
    bool is_good = true;
    for (int64_t i = 0; is_good && i < rows; i++)
        is_good = pass(x + i * from, from, y + i * to, to, 1);
    return is_good;
}

/* Rows first, unless they grow while columns shrink: the intermediate image is never larger than
 * both images. */
static bool columns_first(const media_planes *from, int64_t height, int64_t width)
{
    return width > from->width && height < from->height;
}

static bool plane(const float *x, const media_planes *from, float *between, float *y,
                  int64_t height, int64_t width)
{
    if (columns_first(from, height, width))
        return pass(x, from->height, between, height, from->width) &&
               along_rows(between, height, from->width, y, width);
    return along_rows(x, from->height, from->width, between, width) &&
           pass(between, from->height, y, height, width);
}

float *media_resize(const media_planes *from, int64_t height, int64_t width)
{
    const size_t area = (size_t)height * (size_t)width;
    const size_t before = (size_t)from->height * (size_t)from->width;
    const size_t most = columns_first(from, height, width) ? (size_t)height * (size_t)from->width
                                                           : (size_t)from->height * (size_t)width;
    float *between = malloc(most * sizeof *between);
    float *all = malloc((size_t)from->channels * area * sizeof *all);
    bool is_good = between != NULL && all != NULL;
    for (size_t c = 0; is_good && c < (size_t)from->channels; c++)
        is_good = plane(from->at + c * before, from, between, all + c * area, height, width);
    free(between);
    if (!is_good) {
        free(all);
        all = NULL;
    }
    return all;
}
