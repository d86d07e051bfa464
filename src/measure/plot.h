/* plot.h - plots as SVG, drawn with the page's own colours so that they suit light and dark. */
#ifndef TAKT_MEASURE_PLOT_H
#define TAKT_MEASURE_PLOT_H

#include <takt/measure.h>

#include "base/text.h"

/* `value` with &, <, > and quotes escaped for HTML. */
void takt_html_text(takt_text *text, const char *value);
/* A report up to its body; its title is `title` and `name`, which may hold any text. */
void takt_html_begin(takt_text *text, const char *title, const char *name);

/* A histogram of the times, with the median and its interval; times in nanoseconds. */
void takt_plot_distribution(takt_text *text, const takt_timing *t);
/* The times in the order in which they were taken. */
void takt_plot_series(takt_text *text, const takt_timing *t);

/* A dot with a name and an interval; intervals of width 0 are not drawn. */
typedef struct takt_plot_point {
    double x, y, low, high;
    int series;    /* lines join points of one series */
    double weight; /* 0 to 1: a larger dot */
    const char *name;
} takt_plot_point;

/* A change between points at - 1 and at, marked with how much. */
typedef struct takt_plot_step {
    size_t at;
    double change; /* 0.08: +8 % */
} takt_plot_step;

typedef struct takt_plot {
    const char *title, *x_label, *y_label;
    bool x_log, y_log, joined; /* joined: a line through the dots */
    bool dated;                /* x counts the points, whose names are times: ticks are dates */
    const takt_plot_point *points;
    size_t count;
    bool labels; /* labels next to the heaviest dots */
    double roof; /* of a roofline: y = min(slope * x, roof) for every slope; 0: none */
    double slopes[TAKT_LEVELS];
    const char *slope_names[TAKT_LEVELS];
    const takt_plot_step *steps;
    size_t step_count;
    double level;  /* a horizontal line, such as the median; 0: none */
    double y_most; /* dots above are drawn at the edge; 0: no limit */
} takt_plot;

void takt_plot_points(takt_text *text, const takt_plot *p);
/* As a separate file. */
void takt_plot_svg(takt_text *text, const takt_plot *p);
/* Steps by FLOP per byte and GFLOP/s beneath the machine's peak rates; nothing if there are
 * none. */
void takt_plot_roofline(takt_text *text, const takt_ceiling *c, const takt_plot_point *points,
                        size_t count);

/* The slow tail: time against how many runs are at least that slow, both logarithmic. */
void takt_plot_tail(takt_text *text, const takt_timing *t);
/* Two series in one plot, in the order in which they were taken. */
void takt_plot_two(takt_text *text, const takt_timing *a, const takt_timing *b);

/* A named interval around a value. */
typedef struct takt_plot_bar {
    const char *name;
    double low, value, high;
    bool is_band; /* an interval without a value */
} takt_plot_bar;

/* Intervals below each other, with a line at 0. */
void takt_plot_bars(takt_text *text, const char *title, const char *unit, const takt_plot_bar *bars,
                    size_t count);

#endif
