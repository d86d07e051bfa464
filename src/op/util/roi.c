/* roi.c - the geometry of regions of interest. */
#include "op/util/roi.h"

#include <math.h>

#include "op/util/check.h"

const char *const takt_roi_modes[] = {"avg", "max", NULL};

double takt_roi_get(const takt_roi_source *s, size_t i)
{
    return s->array != NULL ? s->array->f[i] : takt_dtype_get_f(s->dtype, s->data, i);
}

static int64_t get_index(const takt_roi_source *s, size_t i)
{
    return s->array != NULL ? s->array->i[i] : takt_dtype_get_i(s->dtype, s->data, i);
}

int64_t takt_roi_image(const takt_roi *r, const takt_roi_data *d, size_t region, int64_t *given)
{
    if (r->fields == 4)
        *given = get_index(&d->batch, region);
    else
        *given = takt_dtype_from_double(TAKT_I64, takt_roi_get(&d->rois, region * 5));
    const int64_t image = *given < 0 ? *given + r->batch : *given;
    return image >= 0 && image < r->batch ? image : -1;
}

/* A bin: which region, its box, its row and column. */
typedef struct place {
    double left, top, right, bottom, row, column;
} place;

static place place_of(const takt_roi *r, const takt_roi_data *d, size_t i)
{
    const size_t columns = (size_t)r->columns, bins = (size_t)r->rows * columns;
    const size_t region = i / bins / (size_t)r->channels;
    const size_t at = region * (size_t)r->fields + (size_t)(r->fields - 4);
    return (place){.left = takt_roi_get(&d->rois, at) * r->scale,
                   .top = takt_roi_get(&d->rois, at + 1) * r->scale,
                   .right = takt_roi_get(&d->rois, at + 2) * r->scale,
                   .bottom = takt_roi_get(&d->rois, at + 3) * r->scale,
                   .row = (double)(i % bins / columns),
                   .column = (double)(i % columns)};
}

/* ---- roi_align ---- */

/* Number of samples along an extent; a region that is NaN or far too large gets few. */
static int64_t samples_of(const takt_roi *r, double extent)
{
    static const double most = 4096;
    if (r->samples > 0)
        return r->samples;
    const double wanted = ceil(extent);
    return !(wanted >= 1) ? 0 : (int64_t)(wanted < most ? wanted : most);
}

typedef takt_roi_grid grid;
typedef takt_roi_taps taps;

static grid grid_of(const takt_roi *r, const place *p)
{
    double width = p->right - p->left, height = p->bottom - p->top;
    if (r->shift == 0) { /* as originally published: at least one element */
        width = width < 1 ? 1 : width;
        height = height < 1 ? 1 : height;
    }
    const double bin_y = height / (double)r->rows, bin_x = width / (double)r->columns;
    grid g = {.count_y = samples_of(r, bin_y), .count_x = samples_of(r, bin_x)};
    g.step_y = g.count_y > 0 ? bin_y / (double)g.count_y : 0;
    g.step_x = g.count_x > 0 ? bin_x / (double)g.count_x : 0;
    g.top = p->top - r->shift + p->row * bin_y;
    g.left = p->left - r->shift + p->column * bin_x;
    return g;
}

/* The two elements around `at` on an axis, and the weight of the second; false: outside. */
static bool between(double at, int64_t size, int64_t pair[2], double *part)
{
    if (size == 0 || !(at >= -1 && at <= (double)size))
        return false;
    at = at < 0 ? 0 : at;
    pair[0] = (int64_t)at;
    pair[1] = pair[0] + 1;
    if (pair[0] >= size - 1) {
        pair[0] = pair[1] = size - 1;
        at = (double)pair[0];
    }
    *part = at - (double)pair[0];
    return true;
}

takt_roi_grid takt_roi_bin(const takt_roi *r, const takt_roi_data *d, size_t region, size_t bin)
{
    const size_t bins = (size_t)(r->rows * r->columns);
    const place p = place_of(r, d, region * (size_t)r->channels * bins + bin);
    return grid_of(r, &p);
}

taps takt_roi_taps_at(const takt_roi *r, const grid *g, int64_t sample)
{
    int64_t row[2] = {0}, column[2] = {0};
    double down = 0, right = 0;
    const double y = (double)(sample / g->count_x) + 0.5, x = (double)(sample % g->count_x) + 0.5;
    const bool inside = between(g->top + y * g->step_y, r->height, row, &down) &&
                        between(g->left + x * g->step_x, r->width, column, &right);
    return (taps){
        .count = inside ? 4 : 0,
        .at = {row[0] * r->width + column[0], row[0] * r->width + column[1],
               row[1] * r->width + column[0], row[1] * r->width + column[1]},
        .weight = {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right}};
}

/* The sum of all weighted elements, and the largest of them. */
typedef struct outcome {
    double sum, most, weight;
    int64_t best; /* the element that is largest; -1: none */
} outcome;

static outcome look(const takt_roi *r, const grid *g, const takt_roi_source *x, size_t plane)
{
    outcome o = {.best = -1};
    for (int64_t i = 0; i < g->count_y * g->count_x; i++) {
        const taps t = takt_roi_taps_at(r, g, i);
        for (int k = 0; k < t.count; k++) {
            const double part = t.weight[k] * takt_roi_get(x, plane + (size_t)t.at[k]);
            o.sum += part;
            if (o.best >= 0 && !(part > o.most))
                continue;
            o.most = part;
            o.weight = t.weight[k];
            o.best = t.at[k];
        }
    }
    return o;
}

double takt_roi_divisor(const grid *g)
{
    const double count = (double)(g->count_y * g->count_x);
    return count > 1 ? count : 1;
}

/* ---- max_roi_pool ---- */

/* Half away from zero, as originally published. */
static double nearest(double x)
{
    return x < 0 ? -floor(0.5 - x) : floor(x + 0.5);
}

static int64_t within(double x, int64_t size)
{
    return !(x > 0) ? 0 : x < (double)size ? (int64_t)x : size;
}

/* The first largest element of a bin, or -1 for an empty one. */
static int64_t pick(const takt_roi *r, const place *p, const takt_roi_source *x, size_t plane)
{
    const double left = nearest(p->left), top = nearest(p->top);
    const double width = fmax(nearest(p->right) - left + 1, 1) / (double)r->columns;
    const double height = fmax(nearest(p->bottom) - top + 1, 1) / (double)r->rows;
    const int64_t y0 = within(floor(p->row * height) + top, r->height);
    const int64_t y1 = within(ceil((p->row + 1) * height) + top, r->height);
    const int64_t x0 = within(floor(p->column * width) + left, r->width);
    const int64_t x1 = within(ceil((p->column + 1) * width) + left, r->width);
    int64_t best = -1;
    double most = 0;
    for (int64_t i = y0; i < y1; i++)
        for (int64_t k = x0; k < x1; k++) {
            const double value = takt_roi_get(x, plane + (size_t)(i * r->width + k));
            if (best >= 0 && !(value > most))
                continue;
            most = value;
            best = i * r->width + k;
        }
    return best;
}

double takt_roi_value(const takt_roi *r, const takt_roi_data *d, size_t i, size_t plane)
{
    const place p = place_of(r, d, i);
    if (r->fields == 5) {
        const int64_t best = pick(r, &p, &d->x, plane);
        return best >= 0 ? takt_roi_get(&d->x, plane + (size_t)best) : 0;
    }
    const grid g = grid_of(r, &p);
    const outcome o = look(r, &g, &d->x, plane);
    return r->mode == TAKT_ROI_MAX ? o.most : o.sum / takt_roi_divisor(&g);
}

void takt_roi_spread(const takt_roi *r, const takt_roi_data *d, size_t i, size_t plane, double dy,
                     double *to)
{
    const place p = place_of(r, d, i);
    const grid g = grid_of(r, &p);
    if (r->fields == 5) {
        const int64_t best = pick(r, &p, &d->x, plane);
        if (best >= 0)
            to[best] += dy;
    } else if (r->mode == TAKT_ROI_MAX) {
        const outcome o = look(r, &g, &d->x, plane);
        if (o.best >= 0)
            to[o.best] += o.weight * dy;
    } else {
        for (int64_t k = 0; k < g.count_y * g.count_x; k++) {
            const taps t = takt_roi_taps_at(r, &g, k);
            for (int j = 0; j < t.count; j++)
                to[t.at[j]] += t.weight[j] * dy / takt_roi_divisor(&g);
        }
    }
}
