/* f1.c - harmonic mean of precision and recall: of class 1 if there are two, else averaged. */
#include <math.h>

#include "base/arena.h"
#include "train/metric.h"

enum { LABEL, BEST, WIDTH };

static size_t width(size_t classes)
{
    (void)classes;
    return WIDTH;
}

static void keep(const takt_metric_row *row, double *unit)
{
    unit[LABEL] = (double)row->label;
    unit[BEST] = row->count == 1 ? row->x[0] : (double)takt_metric_best(row);
}

/* Labels and predictions as class numbers. */
typedef struct answers {
    size_t count, classes;
    const uint32_t *label, *best;
    double *right, *labelled, *answered; /* by class */
} answers;

static double f1_of(const answers *a, size_t class)
{
    const double all = a->labelled[class] + a->answered[class];
    return all > 0 ? 2 * a->right[class] / all : NAN;
}

static double figure(const void *user, const uint32_t *times)
{
    const answers *a = user;
    double sum = 0, present = 0;
    for (size_t i = 0; i < a->classes; i++)
        a->right[i] = a->labelled[i] = a->answered[i] = 0;
    for (size_t i = 0; i < a->count; i++) {
        a->labelled[a->label[i]] += times[i];
        a->answered[a->best[i]] += times[i];
        a->right[a->label[i]] += a->label[i] == a->best[i] ? times[i] : 0;
    }
    if (a->classes == 2)
        return f1_of(a, 1);
    for (size_t i = 0; i < a->classes; i++)
        if (!isnan(f1_of(a, i))) {
            sum += f1_of(a, i);
            present++;
        }
    return sum / present;
}

static takt_status resample(const takt_units *u, takt_arena *arena, takt_metric_result *r)
{
    uint32_t *label = takt_arena_array(arena, u->count, sizeof *label);
    uint32_t *best = takt_arena_array(arena, u->count, sizeof *best);
    const size_t classes = u->classes > 1 ? u->classes : 2;
    double *sums = takt_arena_array(arena, 3 * classes, sizeof *sums);
    if (label == NULL || best == NULL || sums == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < u->count; i++) {
        const double *unit = u->at + i * WIDTH;
        label[i] = (uint32_t)unit[LABEL];
        best[i] = (uint32_t)(u->classes > 1 ? unit[BEST] : (double)takt_metric_side(u, unit[BEST]));
    }
    const answers a = {.count = u->count,
                       .classes = classes,
                       .label = label,
                       .best = best,
                       .right = sums,
                       .labelled = sums + classes,
                       .answered = sums + 2 * classes};
    return takt_metric_resample(u, figure, &a, r);
}

static takt_status finish(const takt_units *u, takt_metric_result *r)
{
    takt_arena arena;
    takt_arena_init(&arena, u->ctx);
    const takt_status status = resample(u, &arena, r);
    takt_arena_deinit(&arena);
    return status;
}

const takt_metric takt_metric_f1 = {
    .name = "f1",
    .summary = "F1 score of class 1 if there are two, else the mean over classes (macro)",
    .of_classes = true,
    .by_row = true,
    .width = width,
    .keep = keep,
    .finish = finish,
};
