/* plot.h - plots as SVG, drawn with the page's own colours so that they suit light and dark. */
#ifndef TAKT_MEASURE_PLOT_H
#define TAKT_MEASURE_PLOT_H

#include <takt/measure.h>

#include "base/text.h"

/* `value` with &, <, > and quotes written as HTML wants them. */
void takt_html_text(takt_text *text, const char *value);
/* Colours, fonts and boxes of a report; goes between <style> tags. */
void takt_html_style(takt_text *text);

/* How often which time was seen, with the median and its interval; times in nanoseconds. */
void takt_plot_distribution(takt_text *text, const takt_timing *t);
/* The times in the order in which they were taken. */
void takt_plot_series(takt_text *text, const takt_timing *t);

/* A dot with a name and an interval; intervals of width 0 are not drawn. */
typedef struct takt_plot_point {
    double x, y, low, high;
    const char *name;
} takt_plot_point;

typedef struct takt_plot {
    const char *title, *x_label, *y_label;
    bool x_log, y_log, joined; /* joined: a line through the dots */
    const takt_plot_point *points;
    size_t count;
    double slope, roof; /* of a roofline: y = min(slope * x, roof); 0: none */
    size_t step;        /* a change between points step - 1 and step, marked; 0: none */
} takt_plot;

void takt_plot_points(takt_text *text, const takt_plot *p);

#endif
