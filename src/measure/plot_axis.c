/* plot_axis.c - axes: positions of values, tick marks and their labels, the frame of a plot. */
#include "measure/plot_axis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = TAKT_PLOT_WIDTH, HEIGHT = TAKT_PLOT_HEIGHT, LEFT = TAKT_PLOT_LEFT };
enum { RIGHT = TAKT_PLOT_RIGHT, TOP = TAKT_PLOT_TOP, BOTTOM = TAKT_PLOT_BOTTOM };

double takt_axis_place(const takt_axis *a, double value)
{
    const double low = a->is_log ? log10(a->low) : a->low;
    const double high = a->is_log ? log10(a->high) : a->high;
    const double at = a->is_log ? log10(fmax(value, a->low * 1e-3)) : value;
    return a->from + (high > low ? (at - low) / (high - low) : 0.5) * (a->to - a->from);
}

/* 1, 2 or 5 times a power of ten. */
static double nice_step(double range)
{
    const double power = pow(10, floor(log10(range / 5)));
    const double rest = range / 5 / power;
    return power * (rest < 1.5 ? 1 : rest < 3.5 ? 2 : rest < 7.5 ? 5 : 10);
}

const char *takt_axis_label(double value, char to[static 24])
{
    const double size = fabs(value);
    const double unit = size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : size >= 1e4 ? 1e3 : 1;
    const char *suffix = unit == 1e9 ? "G" : unit == 1e6 ? "M" : unit == 1e3 ? "k" : "";
    snprintf(to, 24, "%.4g%s", value / unit, suffix);
    return to;
}

static void tick(takt_text *text, double at, const char *name, bool is_x)
{
    if (is_x)
        takt_text_add(text,
                      "<line class=\"a\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
                      at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 16);
    else
        takt_text_add(text,
                      "<line class=\"a\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
                      LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4);
    takt_html_text(text, name); /* dates come from files */
    takt_text_add(text, "</text>\n");
}

/* Powers of ten, with 2 and 5 between them where there is room. */
static size_t log_marks(const takt_axis *a, double *to, size_t most)
{
    const bool wide = log10(a->high / a->low) > 3;
    size_t count = 0;
    for (double v = pow(10, floor(log10(a->low))); v <= a->high * 1.000001; v *= 10)
        for (int i = 0; i < (wide ? 1 : 3); i++) {
            const double at = v * (i == 0 ? 1 : i == 1 ? 2 : 5);
            if (at >= a->low * 0.999999 && at <= a->high * 1.000001 && count < most)
                to[count++] = at;
        }
    return count;
}

size_t takt_axis_marks(const takt_axis *a, double *to, size_t most)
{
    if (a->is_log)
        return log_marks(a, to, most);
    const double step = nice_step(fmax(a->high - a->low, 1e-12));
    size_t count = 0;
    for (double v = ceil(a->low / step) * step; v <= a->high && count < most; v += step)
        to[count++] = fabs(v) < step * 1e-9 ? 0 : v;
    return count;
}

void takt_axis_ticks(takt_text *text, const takt_axis *a, bool is_x)
{
    double marks[20];
    const size_t count = takt_axis_marks(a, marks, sizeof marks / sizeof *marks);
    for (size_t i = 0; i < count; i++) {
        char name[24];
        tick(text, takt_axis_place(a, marks[i]), takt_axis_label(marks[i], name), is_x);
    }
}

/* ---- dates ---- */

enum { DATE = sizeof "2026-11-17" - 1, CLOCK = sizeof "23:19:33" - 1 };

static bool is_one_day(const takt_plot *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (strncmp(p->points[i].name, p->points[0].name, DATE) != 0 ||
            strlen(p->points[i].name) < DATE + 1 + CLOCK)
            return false;
    return true;
}

/* "2026-11-17T23:19:33Z": its date, or its time. */
static size_t date_ticks(const takt_plot *p, takt_tick *to, size_t most)
{
    const bool is_day = is_one_day(p);
    const size_t stride = (p->count + most - 1) / most;
    size_t count = 0;
    for (size_t i = 0; i < p->count && count < most; i += stride, count++) {
        const char *name = p->points[i].name;
        to[count].at = p->points[i].x;
        snprintf(to[count].name, sizeof to->name, "%.*s", is_day ? CLOCK : DATE,
                 is_day ? name + DATE + 1 : name);
    }
    return count;
}

size_t takt_plot_ticks(const takt_plot *p, const takt_axis *x, takt_tick *to, size_t most)
{
    enum { DATES = 6, MARKS = 20 };
    double marks[MARKS];
    if (p->dated && p->count > 0 && strlen(p->points[0].name) >= DATE)
        return date_ticks(p, to, most < DATES ? most : DATES);
    const size_t count = takt_axis_marks(x, marks, most < MARKS ? most : MARKS);
    for (size_t i = 0; i < count; i++) {
        to[i].at = marks[i];
        takt_axis_label(marks[i], to[i].name);
    }
    return count;
}

void takt_plot_x_ticks(takt_text *text, const takt_plot *p, const takt_axis *x)
{
    takt_tick ticks[20];
    const size_t count = takt_plot_ticks(p, x, ticks, sizeof ticks / sizeof *ticks);
    for (size_t i = 0; i < count; i++)
        tick(text, takt_axis_place(x, ticks[i].at), ticks[i].name, true);
}

/* ---- times ---- */

static const struct {
    double scale;
    const char *unit, *word;
} times[] = {{1, "ns", "nanoseconds"},
             {1e-3, "us", "microseconds"},
             {1e-6, "ms", "milliseconds"},
             {1e-9, "s", "seconds"}};

static int time_index(double ns)
{
    return ns < 1e3 ? 0 : ns < 1e6 ? 1 : ns < 1e9 ? 2 : 3;
}

const char *takt_time_unit(double ns, double *scale)
{
    *scale = times[time_index(ns)].scale;
    return times[time_index(ns)].unit;
}

const char *takt_time_word(double ns, double *scale)
{
    *scale = times[time_index(ns)].scale;
    return times[time_index(ns)].word;
}

double takt_plot_end(const takt_timing *t)
{
    const takt_stats *s = &t->stats;
    const double usual = fmin(1.02 * s->percentiles[1].value, 3 * s->median);
    return fmin(s->max, fmax(usual, s->median + 12 * fmax(s->mad, 1)));
}

void takt_plot_beyond(takt_text *text, const takt_timing *t, double end)
{
    size_t beyond = 0;
    double scale;
    for (size_t i = 0; i < t->count; i++)
        beyond += t->samples[i] > end;
    const char *unit = takt_time_unit(t->stats.max, &scale);
    if (beyond > 0)
        takt_text_add(text,
                      "<text x=\"%d\" y=\"18\" text-anchor=\"end\">%zu beyond, up to %.3g %s"
                      "</text>\n",
                      WIDTH - RIGHT, beyond, t->stats.max * scale, unit);
}

void takt_plot_begin(takt_text *text, const char *title, const char *x_label, const char *y_label)
{
    takt_text_add(text, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
                  WIDTH, HEIGHT, WIDTH / 4 * 3, HEIGHT / 4 * 3);
    takt_text_add(text, "<text class=\"t\" x=\"%d\" y=\"18\">", LEFT);
    takt_html_text(text, title);
    takt_text_add(text, "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\">", WIDTH - RIGHT,
                  HEIGHT - 8);
    takt_html_text(text, x_label);
    takt_text_add(text,
                  "</text><text x=\"14\" y=\"%d\" transform=\"rotate(-90 14 %d)\" "
                  "text-anchor=\"middle\">",
                  HEIGHT / 2, HEIGHT / 2);
    takt_html_text(text, y_label);
    takt_text_add(text, "</text>\n");
}

takt_axis takt_x_axis(double low, double high, bool is_log)
{
    return (takt_axis){low, high, is_log, LEFT, WIDTH - RIGHT};
}

takt_axis takt_y_axis(double low, double high, bool is_log)
{
    return (takt_axis){low, high, is_log, HEIGHT - BOTTOM, TOP};
}
