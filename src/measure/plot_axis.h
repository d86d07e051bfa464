/* plot_axis.h - shared by all plots. */
#ifndef TAKT_MEASURE_PLOT_AXIS_H
#define TAKT_MEASURE_PLOT_AXIS_H

#include "measure/plot.h"

enum { TAKT_PLOT_WIDTH = 640, TAKT_PLOT_HEIGHT = 280, TAKT_PLOT_LEFT = 70, TAKT_PLOT_RIGHT = 16 };
enum { TAKT_PLOT_TOP = 28, TAKT_PLOT_BOTTOM = 44 };

typedef struct takt_axis {
    double low, high;
    bool is_log;
    double from, to; /* in the picture */
} takt_axis;

takt_axis takt_x_axis(double low, double high, bool is_log);
takt_axis takt_y_axis(double low, double high, bool is_log);
double takt_axis_place(const takt_axis *a, double value);
/* Round values for tick marks, ascending; at most `most`. */
size_t takt_axis_marks(const takt_axis *a, double *to, size_t most);
/* "19.5k": exponents would not fit next to an axis. */
const char *takt_axis_label(double value, char to[static 24]);
void takt_axis_ticks(takt_text *text, const takt_axis *a, bool is_x);

typedef struct takt_tick {
    double at;
    char name[24];
} takt_tick;

/* Ticks of x: round values, or dates of points that are far enough apart; at most `most`. Times of
 * day if all points are of one day. */
size_t takt_plot_ticks(const takt_plot *p, const takt_axis *x, takt_tick *to, size_t most);
/* The same, drawn. */
void takt_plot_x_ticks(takt_text *text, const takt_plot *p, const takt_axis *x);
/* Opens the plot: title and labels. "</svg>" ends it. */
void takt_plot_begin(takt_text *text, const char *title, const char *x_label, const char *y_label);

/* "us" and "microseconds": the unit in which this time is a small number, and the factor from
 * nanoseconds. */
const char *takt_time_unit(double ns, double *scale);
const char *takt_time_word(double ns, double *scale);
/* Outliers beyond this would compress everything else. */
double takt_plot_end(const takt_timing *t);
/* "3 beyond, up to 22 ms" in the upper right corner, if there are any. */
void takt_plot_beyond(takt_text *text, const takt_timing *t, double end);

#endif
