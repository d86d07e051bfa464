/* ppl.c - perplexity: exp of the mean negative log probability of the labels. */
#include <float.h>
#include <math.h>

#include "train/metric.h"

enum { OF_LOGITS, OF_SHARES, COUNT, WIDTH };

static size_t width(size_t classes)
{
    (void)classes;
    return WIDTH;
}

/* Whether outputs are logits or probabilities is known after the last row: both are kept. */
static void keep(const takt_metric_row *row, double *unit)
{
    const double most = row->x[takt_metric_best(row)];
    double sum = 0;
    for (size_t i = 0; i < row->count; i++)
        sum += exp(row->x[i] - most);
    unit[OF_LOGITS] += most + log(sum) - row->x[row->label];
    unit[OF_SHARES] -= log(fmax(row->x[row->label], FLT_MIN));
    unit[COUNT]++;
}

static takt_status finish(const takt_units *u, takt_metric_result *r)
{
    takt_metric_ratio(u, u->is_distribution ? OF_SHARES : OF_LOGITS, COUNT, r);
    r->value = exp(r->value);
    r->ci = (takt_interval){exp(r->ci.low), exp(r->ci.high)};
    return TAKT_OK;
}

const takt_metric takt_metric_ppl = {
    .name = "ppl",
    .summary = "perplexity: exp of the mean negative log probability of the labels",
    .of_classes = true,
    .width = width,
    .keep = keep,
    .finish = finish,
};
