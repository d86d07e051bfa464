/* top5.c - how many samples have their label among the five greatest outputs. */
#include "train/metric.h"

enum { RIGHT, COUNT, WIDTH };

static size_t width(size_t classes)
{
    (void)classes;
    return WIDTH;
}

/* Among equal outputs the one with the lower index comes first. */
static void keep(const takt_metric_row *row, double *unit)
{
    const size_t label = (size_t)row->label;
    size_t before = 0;
    for (size_t i = 0; i < row->count && label < row->count; i++)
        before += row->x[i] > row->x[label] || (row->x[i] == row->x[label] && i < label) ? 1 : 0;
    unit[RIGHT] += row->count == 1 || before < 5;
    unit[COUNT]++;
}

static takt_status finish(const takt_units *u, takt_metric_result *r)
{
    takt_metric_ratio(u, RIGHT, COUNT, r);
    return TAKT_OK;
}

const takt_metric takt_metric_top5 = {
    .name = "top5",
    .summary = "share of samples whose label is among the five greatest outputs",
    .of_classes = true,
    .width = width,
    .keep = keep,
    .finish = finish,
};
