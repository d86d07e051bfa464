/* auc.c - area under the ROC curve: how often a sample of a class scores above one of another. */
#include <math.h>

#include "base/arena.h"
#include "train/metric.h"

/* The label, then all scores. A score that is NaN is below all others, so that scores have an
 * order. */
static size_t width(size_t classes)
{
    return classes + 1;
}

static void keep(const takt_metric_row *row, double *unit)
{
    unit[0] = (double)row->label;
    for (size_t i = 0; i < row->count; i++)
        unit[1 + i] = isnan(row->x[i]) ? -INFINITY : row->x[i];
}

/* Units by ascending score of one class. */
typedef struct ranking {
    const takt_units *u;
    size_t classes, first; /* classes to average over, from this one on */
    const uint32_t *order; /* [classes][count] */
} ranking;

static double score(const takt_units *u, size_t unit, size_t class)
{
    return u->at[unit * u->width + 1 + (u->classes > 1 ? class : 0)];
}

/* Mann and Whitney: pairs in the right order, ties counting half. */
static double area(const ranking *k, size_t class, const uint32_t *times)
{
    const takt_units *u = k->u;
    const uint32_t *order = k->order + (class - k->first) * u->count;
    double above = 0, own = 0, others = 0;
    for (size_t i = 0; i < u->count;) {
        const double level = score(u, order[i], class);
        double here = 0, rest = 0;
        for (; i < u->count && score(u, order[i], class) == level; i++) {
            const bool is_own = u->at[order[i] * u->width] == (double)class;
            *(is_own ? &here : &rest) += times[order[i]];
        }
        above += here * (others + rest / 2);
        own += here;
        others += rest;
    }
    return above / (own * others);
}

static double figure(const void *user, const uint32_t *times)
{
    const ranking *k = user;
    double sum = 0, present = 0;
    for (size_t i = 0; i < k->classes; i++) {
        const double one = area(k, k->first + i, times);
        if (isfinite(one)) {
            sum += one;
            present++;
        }
    }
    return sum / present;
}

static bool is_after(const ranking *k, size_t class, uint32_t a, uint32_t b)
{
    const double x = score(k->u, a, class), y = score(k->u, b, class);
    return x != y ? x > y : a > b;
}

static void sift(const ranking *k, size_t class, uint32_t *order, size_t at, size_t count)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_after(k, class, order[child + 1], order[child]))
            child++;
        if (!is_after(k, class, order[child], order[at]))
            return;
        const uint32_t moved = order[at];
        order[at] = order[child];
        order[child] = moved;
    }
}

/* Heap sort: no allocation, and no slow input. */
static void sort(const ranking *k, size_t class, uint32_t *order, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift(k, class, order, i, count);
    for (size_t i = count; i-- > 1;) {
        const uint32_t last = order[0];
        order[0] = order[i];
        order[i] = last;
        sift(k, class, order, 0, i);
    }
}

static takt_status resample(const takt_units *u, takt_arena *arena, takt_metric_result *r)
{
    const bool is_pair = u->classes <= 2;
    ranking k = {.u = u, .classes = is_pair ? 1 : u->classes, .first = is_pair};
    uint32_t *order = takt_arena_array(arena, k.classes * u->count, sizeof *order);
    if (order == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t c = 0; c < k.classes; c++) {
        for (size_t i = 0; i < u->count; i++)
            order[c * u->count + i] = (uint32_t)i;
        sort(&k, k.first + c, order + c * u->count, u->count);
    }
    k.order = order;
    return takt_metric_resample(u, figure, &k, r);
}

static takt_status finish(const takt_units *u, takt_metric_result *r)
{
    takt_arena arena;
    takt_arena_init(&arena, u->ctx);
    const takt_status status = resample(u, &arena, r);
    takt_arena_deinit(&arena);
    return status;
}

const takt_metric takt_metric_auc = {
    .name = "auc",
    .summary = "area under the ROC curve; of several classes the mean of one against the rest",
    .of_classes = true,
    .by_row = true,
    .width = width,
    .keep = keep,
    .finish = finish,
};
