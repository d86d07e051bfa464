/* mae.c - mean of absolute differences. */
#include <math.h>

#include "train/metric.h"

enum { SUM, COUNT, WIDTH };

static size_t width(size_t classes)
{
    (void)classes;
    return WIDTH;
}

static void keep(const takt_metric_row *row, double *unit)
{
    for (size_t i = 0; i < row->count; i++) {
        const double d = row->x[i] - row->target[i];
        unit[SUM] += fabs(d);
    }
    unit[COUNT] += (double)row->count;
}

static takt_status finish(const takt_units *u, takt_metric_result *r)
{
    takt_metric_ratio(u, SUM, COUNT, r);
    return TAKT_OK;
}

const takt_metric takt_metric_mae = {
    .name = "mae",
    .summary = "mean of absolute differences from the targets",
    .width = width,
    .keep = keep,
    .finish = finish,
};
