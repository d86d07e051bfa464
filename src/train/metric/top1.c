/* top1.c - how many samples are right. */
#include "train/metric.h"

enum { RIGHT, RIGHT_SHARE, COUNT, WIDTH };

static size_t width(size_t classes)
{
    (void)classes;
    return WIDTH;
}

/* A single score is a class by its threshold, which depends on all scores: both are kept. */
static void keep(const takt_metric_row *row, double *unit)
{
    const bool is_single = row->count == 1;
    const int64_t best = is_single ? row->x[0] > 0 : (int64_t)takt_metric_best(row);
    unit[RIGHT] += best == row->label;
    unit[RIGHT_SHARE] += (is_single ? row->x[0] > 0.5 : best) == row->label;
    unit[COUNT]++;
}

static takt_status finish(const takt_units *u, takt_metric_result *r)
{
    takt_metric_ratio(u, u->is_share ? RIGHT_SHARE : RIGHT, COUNT, r);
    return TAKT_OK;
}

const takt_metric takt_metric_top1 = {
    .name = "top1",
    .summary = "share of samples whose greatest output is the label",
    .of_classes = true,
    .width = width,
    .keep = keep,
    .finish = finish,
};
