/* trend.h - one metric of several results in order, and its steps. */
#ifndef TAKT_MEASURE_TREND_H
#define TAKT_MEASURE_TREND_H

#include "measure/bench.h"
#include "measure/plot.h"

/* A value with its interval; low and high are the value itself if none is known. */
typedef struct takt_trend_sample {
    double value, low, high;
} takt_trend_sample;

typedef struct takt_trend_metric {
    const char *name, *title, *unit;
    bool (*of)(const takt_bench_row *r, takt_trend_sample *s);
    bool more_is_better;
} takt_trend_metric;

/* NULL means the median latency. */
TAKT_MUST_USE takt_status takt_trend_metric_find(takt_ctx *ctx, const char *name,
                                                 const takt_trend_metric **found);

enum { TAKT_TREND_STEPS = 64 };

typedef struct takt_trend_view {
    const takt_trend_metric *metric;
    const takt_bench **benches; /* in order */
    takt_plot_point *points;    /* in the metric's unit */
    size_t count;
    size_t steps[TAKT_TREND_STEPS], step_count;
    double levels[TAKT_TREND_STEPS + 1]; /* medians before, between and after them */
    char which[64];                      /* the case */
    const takt_run_config *config;       /* of the first result that has one; NULL: none has */
} takt_trend_view;

/* The relative change of the level at a step. */
double takt_trend_change(const takt_trend_view *v, size_t step);
/* The report in a format of takt_trend. */
TAKT_MUST_USE takt_status takt_trend_write(takt_text *text, const takt_trend_view *v,
                                           takt_bench_format format);

/* Indices at which the level of a series changes permanently, ascending: the medians of up to five
 * values on each side differ by 1 % and by three times the noise, which is the difference between
 * neighbours. At most `most`; returns their number. `scratch`: count numbers. */
size_t takt_steps_find(const double *values, size_t count, double *scratch, size_t *steps,
                       size_t most);

#endif
