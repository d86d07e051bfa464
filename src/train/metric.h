/* metric.h - how good a model's outputs are, and how certain that figure is.
 *
 * A metric is a record in its own file, train/metric/<name>.c. It reduces every row of the output
 * to a few numbers, its unit, and at the end makes one figure with a 95 % confidence interval from
 * all units. Rows are the output's last axis; a sample may have several (tokens). */
#ifndef TAKT_TRAIN_METRIC_H
#define TAKT_TRAIN_METRIC_H

#include <takt/eval.h>

#include "base/error.h"

/* One row of the output with its label. */
typedef struct takt_metric_row {
    const double *x;
    size_t count;
    int64_t label;        /* of classes */
    const double *target; /* otherwise: `count` numbers */
} takt_metric_row;

/* Everything that was kept, in the order of the samples. */
typedef struct takt_units {
    takt_ctx *ctx;
    const double *at; /* [count][width] */
    size_t count, width;
    size_t classes;       /* elements of a row */
    bool is_distribution; /* every row is >= 0 and sums to 1: probabilities, not logits */
    bool is_share;        /* every element is from 0 to 1 */
} takt_units;

typedef struct takt_metric {
    const char *name, *summary;
    bool of_classes; /* labels are class numbers; otherwise they are like the output */
    bool by_row;     /* a unit is a row; otherwise all rows of a sample are added into one */
    size_t (*width)(size_t classes);
    /* Adds a row to its unit, which begins with zeros. */
    void (*keep)(const takt_metric_row *row, double *unit);
    takt_status (*finish)(const takt_units *units, takt_metric_result *result);
} takt_metric;

extern const takt_metric *const takt_metrics[]; /* ends with NULL */
const takt_metric *takt_metric_find(const char *name, size_t length);

/* ---- shared by metrics ---- */

/* Sum of column `sum` over sum of column `count`, with the interval of a ratio: Wilson's if every
 * unit is right or wrong, else Student's. */
void takt_metric_ratio(const takt_units *units, size_t sum, size_t count,
                       takt_metric_result *result);
/* The class that a single score means: 1 above 0.5 for probabilities, above 0 for logits. */
int64_t takt_metric_side(const takt_units *units, double score);
/* The interval of a figure by resampling units with replacement. `figure` gets how often each unit
 * was drawn. */
typedef double takt_metric_figure_fn(const void *user, const uint32_t *times);
TAKT_MUST_USE takt_status takt_metric_resample(const takt_units *units,
                                               takt_metric_figure_fn *figure, const void *user,
                                               takt_metric_result *result);
size_t takt_metric_best(const takt_metric_row *row); /* index of the greatest element */

#endif
