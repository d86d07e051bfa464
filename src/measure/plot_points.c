/* plot_points.c - dots and lines with names: scaling, trends, rooflines. */
#include <math.h>
#include <string.h>

#include "measure/plot_axis.h"

enum { WIDTH = TAKT_PLOT_WIDTH, HEIGHT = TAKT_PLOT_HEIGHT, LEFT = TAKT_PLOT_LEFT };
enum { RIGHT = TAKT_PLOT_RIGHT, TOP = TAKT_PLOT_TOP, BOTTOM = TAKT_PLOT_BOTTOM };
enum { COLOURS = 6, LETTER = 6, LINE = 14 };

/* More joined dots than DOTS hide their line; more names than NAMES hide each other. */
enum { DOTS = 80, NAMES = 6 };

typedef struct drawing {
    takt_text *text;
    const takt_plot *p;
    takt_axis x, y;
} drawing;

static void widen(takt_axis *a)
{
    if (a->is_log) {
        a->low /= 1.5;
        a->high *= 1.5;
    } else {
        const double by = a->high > a->low ? 0.06 * (a->high - a->low) : fmax(1, fabs(a->low)) / 10;
        a->low = a->low >= 0 && a->low - by < 0 ? 0 : a->low - by;
        a->high += by;
    }
}

static void reach(takt_axis *a, double value)
{
    if (!isfinite(value) || (a->is_log && value <= 0))
        return;
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

static void line(const drawing *d, double x, double y, double to_x, double to_y)
{
    takt_text_add(d->text, "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                  x, to_x, y, to_y);
}

/* Slopes are labelled above the picture: next to the lines the labels would cross other lines. */
static void draw_roof(const drawing *d)
{
    const takt_plot *p = d->p;
    const takt_axis *x = &d->x, *y = &d->y;
    double left = x->high; /* where the first slope reaches the roof */
    takt_text_add(d->text, "<text x=\"%d\" y=\"18\" text-anchor=\"end\">from above: %.3g GFLOP/s",
                  WIDTH - RIGHT, p->roof);
    for (int i = 0; i < TAKT_LEVELS; i++)
        if (p->slopes[i] > 0)
            takt_text_add(d->text, "%s %s %.3g", i > 0 ? "," : ";", p->slope_names[i],
                          p->slopes[i]);
    takt_text_add(d->text, " GB/s</text>\n");
    for (int i = 0; i < TAKT_LEVELS; i++) {
        const double knee = p->slopes[i] > 0 ? p->roof / p->slopes[i] : 0;
        const double from = knee > 0 ? fmax(x->low, y->low / p->slopes[i]) : 0;
        if (knee <= 0)
            continue;
        left = fmin(left, fmax(x->low, knee));
        const double to = fmin(knee, x->high);
        if (from < to)
            line(d, takt_axis_place(x, from), takt_axis_place(y, p->slopes[i] * from),
                 takt_axis_place(x, to), takt_axis_place(y, p->slopes[i] * to));
    }
    line(d, takt_axis_place(x, left), takt_axis_place(y, p->roof), takt_axis_place(x, x->high),
         takt_axis_place(y, p->roof));
}

/* The colour of a point, relative to the previous one. */
static int next_colour(const takt_plot *p, size_t i, int colour)
{
    return i > 0 && p->points[i].series != p->points[i - 1].series ? (colour + 1) % COLOURS
                                                                   : colour;
}

static double radius_of(const takt_plot *p, const takt_plot_point *q)
{
    return p->joined && p->count > DOTS ? 1.2 : 4 + 6 * q->weight;
}

static void draw_point(const drawing *d, const takt_plot_point *q, int colour)
{
    const takt_plot *p = d->p;
    const bool is_beyond = p->y_most > 0 && q->y > p->y_most;
    const double at = takt_axis_place(&d->x, q->x);
    const double height = takt_axis_place(&d->y, is_beyond ? p->y_most : q->y);
    if (q->high > q->low)
        takt_text_add(d->text, "<polyline class=\"k%d\" points=\"%.1f,%.1f %.1f,%.1f\"/>", colour,
                      at, takt_axis_place(&d->y, q->low), at, takt_axis_place(&d->y, q->high));
    takt_text_add(d->text, "<circle class=\"k%d\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\"><title>",
                  colour, radius_of(p, q), at, height);
    takt_html_text(d->text, q->name);
    takt_text_add(d->text, ": %.4g</title></circle>\n", q->y);
}

/* A line through the points of each series. */
static void draw_lines(const drawing *d)
{
    const takt_plot *p = d->p;
    int colour = 0;
    for (size_t i = 0; i < p->count; i++) {
        const takt_plot_point *q = &p->points[i];
        colour = next_colour(p, i, colour);
        if (i == 0 || q[-1].series != q->series)
            takt_text_add(d->text, "<polyline class=\"k%d\" points=\"", colour);
        takt_text_add(d->text, "%.1f,%.1f ", takt_axis_place(&d->x, q->x),
                      takt_axis_place(&d->y, q->y));
        if (i + 1 == p->count || q[1].series != q->series)
            takt_text_add(d->text, "\"/>\n");
    }
}

/* Names of several series in the upper right corner. */
static void draw_legend(const drawing *d)
{
    const takt_plot *p = d->p;
    double at = WIDTH - RIGHT;
    int colour = 0;
    if (p->count == 0 || p->points[0].series == p->points[p->count - 1].series)
        return;
    for (size_t i = 0; i < p->count; i++)
        if (i + 1 == p->count || p->points[i + 1].series != p->points[i].series)
            at -= LETTER * (double)strlen(p->points[i].name) + 24;
    for (size_t i = 0; i < p->count; i++) {
        const takt_plot_point *q = &p->points[i];
        colour = next_colour(p, i, colour);
        if (i + 1 < p->count && q[1].series == q->series)
            continue;
        if (at > LEFT + 2.0 * LETTER * (double)strlen(p->title)) {
            takt_text_add(d->text,
                          "<circle class=\"k%d\" r=\"4\" cx=\"%.1f\" cy=\"14\"/>"
                          "<text x=\"%.1f\" y=\"18\">",
                          colour, at + 8, at + 16);
            takt_html_text(d->text, q->name);
            takt_text_add(d->text, "</text>\n");
        }
        at += LETTER * (double)strlen(q->name) + 24;
    }
}

static void draw_steps(const drawing *d)
{
    const takt_plot *p = d->p;
    for (size_t i = 0; i < p->step_count; i++) {
        const size_t k = p->steps[i].at;
        if (k == 0 || k >= p->count)
            continue;
        const double at =
            (takt_axis_place(&d->x, p->points[k - 1].x) + takt_axis_place(&d->x, p->points[k].x)) /
            2;
        /* On the side where the line is low, if there is room. */
        const bool is_right = at > WIDTH - 90 || (p->steps[i].change > 0 && at > LEFT + 60);
        line(d, at, TOP, at, HEIGHT - BOTTOM);
        takt_text_add(d->text, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%+.1f %%</text>\n",
                      at + (is_right ? -5 : 5), TOP + 12, is_right ? "end" : "start",
                      100 * p->steps[i].change);
    }
}

/* A label next to its dot, moved down or up to avoid earlier labels. */
typedef struct label {
    double left, right, y;
    double dot_x, dot_y;
} label;

static bool is_free(const label *all, size_t count, const label *one)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(all[i].y - one->y) < LINE - 1 && all[i].left < one->right &&
            one->left < all[i].right)
            return false;
    return true;
}

/* Blocks of a model repeat: of dots at the same place, one has a name. */
static bool is_named(const label *all, size_t count, double x, double y)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(all[i].dot_x - x) < LINE && fabs(all[i].dot_y - y) < LINE)
            return true;
    return false;
}

static void draw_label(const drawing *d, const takt_plot_point *q, label *all, size_t *count)
{
    const double at = takt_axis_place(&d->x, q->x), height = takt_axis_place(&d->y, q->y) + 4;
    const double length = LETTER * (double)strlen(q->name), apart = radius_of(d->p, q) + 6;
    const bool is_left = at + apart + length > WIDTH - RIGHT;
    label one = {is_left ? at - apart - length : at + apart,
                 is_left ? at - apart : at + apart + length, height, at, height};
    if (is_named(all, *count, at, height))
        return;
    for (int i = 1; i < 9 && !is_free(all, *count, &one); i++)
        one.y = height + (i % 2 != 0 ? 1 : -1) * (i + 1) / 2 * LINE;
    all[(*count)++] = one;
    takt_text_add(d->text, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                  is_left ? one.right : one.left, one.y, is_left ? "end" : "start");
    takt_html_text(d->text, q->name);
    takt_text_add(d->text, "</text>\n");
}

static void draw_labels(const drawing *d)
{
    const takt_plot *p = d->p;
    label all[NAMES];
    size_t count = 0;
    for (size_t i = 0; i < p->count && count < NAMES; i++) {
        size_t heavier = 0;
        for (size_t k = 0; k < p->count; k++)
            heavier += p->points[k].weight > p->points[i].weight ||
                       (p->points[k].weight == p->points[i].weight && k < i);
        if (heavier < NAMES)
            draw_label(d, &p->points[i], all, &count);
    }
}

static void fit(drawing *d)
{
    const takt_plot *p = d->p;
    const double most = p->y_most > 0 ? p->y_most : INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        reach(&d->x, p->points[i].x);
        reach(&d->y, fmin(p->points[i].y, most));
        if (p->points[i].high > p->points[i].low) {
            reach(&d->y, p->points[i].low);
            reach(&d->y, fmin(p->points[i].high, most));
        }
    }
    for (int i = 0; i < TAKT_LEVELS && p->roof > 0; i++)
        if (p->slopes[i] > 0)
            reach(&d->x, p->roof / p->slopes[i] * 1.5);
    if (p->roof > 0)
        reach(&d->y, p->roof);
}

void takt_plot_points(takt_text *text, const takt_plot *p)
{
    drawing d = {text, p, takt_x_axis(INFINITY, -INFINITY, p->x_log),
                 takt_y_axis(INFINITY, -INFINITY, p->y_log)};
    fit(&d);
    if (!isfinite(d.x.low) || !isfinite(d.y.low))
        return;
    widen(&d.x);
    widen(&d.y);
    takt_plot_begin(text, p->title, p->x_label, p->y_label);
    takt_plot_x_ticks(text, p, &d.x);
    takt_axis_ticks(text, &d.y, false);
    if (p->roof > 0)
        draw_roof(&d);
    if (p->joined)
        draw_lines(&d);
    draw_steps(&d);
    if (p->level > 0)
        line(&d, LEFT, takt_axis_place(&d.y, p->level), WIDTH - RIGHT,
             takt_axis_place(&d.y, p->level));
    int colour = 0;
    for (size_t i = 0; i < p->count; i++) {
        colour = p->joined ? next_colour(p, i, colour) : 0;
        draw_point(&d, &p->points[i], colour);
    }
    if (p->labels)
        draw_labels(&d);
    draw_legend(&d);
    takt_text_add(text, "</svg>\n");
}
