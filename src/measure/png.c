/* png.c - a plot as pixels: the same as the SVG, for viewers without it. */
#include "measure/png.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/canvas.h"
#include "measure/plot_axis.h"

enum { WIDTH = 960, HEIGHT = 420, LEFT = 84, RIGHT = 24, TOP = 48, BOTTOM = 60, SCALE = 2 };

static const takt_colour grid = 0xE3E7EE, ink = 0x1C2330, faint = 0x5B6474, mark = 0xC2410C;
static const takt_colour series[] = {0x2563C9, 0xC2410C, 0x7C3AED, 0x15803D};

typedef struct picture {
    takt_canvas c;
    double x_low, x_high, y_low, y_high;
} picture;

static double x_of(const picture *f, double x)
{
    const double part = (x - f->x_low) / (f->x_high - f->x_low);
    return LEFT + fmin(fmax(part, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const picture *f, double y)
{
    const double part = (y - f->y_low) / (f->y_high - f->y_low);
    return HEIGHT - BOTTOM - fmin(fmax(part, 0), 1) * (HEIGHT - TOP - BOTTOM);
}

static takt_point place(const picture *f, double x, double y)
{
    return (takt_point){x_of(f, x), y_of(f, y)};
}

static takt_colour colour_of(const takt_plot_point *q)
{
    const size_t count = sizeof series / sizeof *series;
    return series[(size_t)(q->series > 0 ? q->series : 0) % count];
}

static void fit(picture *f, const takt_plot *p)
{
    const double most = p->y_most > 0 ? p->y_most : INFINITY;
    f->x_low = f->y_low = INFINITY;
    f->x_high = f->y_high = -INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        const takt_plot_point *q = &p->points[i];
        const bool has_interval = q->high > q->low;
        f->x_low = fmin(f->x_low, q->x);
        f->x_high = fmax(f->x_high, q->x);
        f->y_low = fmin(f->y_low, has_interval ? fmin(q->y, q->low) : q->y);
        f->y_high = fmin(fmax(f->y_high, has_interval ? fmax(q->y, q->high) : q->y), most);
    }
    const double x_room = f->x_high > f->x_low ? 0.02 * (f->x_high - f->x_low) : 1;
    const double y_room =
        f->y_high > f->y_low ? 0.08 * (f->y_high - f->y_low) : fmax(fabs(f->y_low) * 0.1, 1e-9);
    f->x_low -= x_room;
    f->x_high += x_room;
    f->y_low = f->y_low >= 0 ? fmax(0, f->y_low - y_room) : f->y_low - y_room;
    f->y_high += y_room;
}

/* ---- words ---- */

enum { SMALL = 9, LARGE = 12 };

/* Ends at x. */
static void write_left_of(picture *f, const char *text, double x, double y)
{
    const double wide = takt_canvas_text_width(text, SMALL);
    takt_canvas_text(&f->c, text, (takt_point){x - wide, y}, SMALL, faint);
}

static void axes(picture *f, const takt_plot *p)
{
    char text[24];
    double marks[12];
    takt_tick ticks[12];
    const takt_axis y = {f->y_low, f->y_high, false, 0, 1}, x = {f->x_low, f->x_high, false, 0, 1};
    const double bottom = HEIGHT - BOTTOM;
    size_t count = takt_axis_marks(&y, marks, 12);
    for (size_t i = 0; i < count; i++) {
        const double at = y_of(f, marks[i]);
        takt_axis_label(marks[i], text);
        takt_canvas_line(&f->c, (takt_point){LEFT, at}, (takt_point){WIDTH - RIGHT, at}, 1, grid);
        write_left_of(f, text, LEFT - 10, at + SMALL / 2.0);
    }
    count = takt_plot_ticks(p, &x, ticks, 12);
    for (size_t i = 0; i < count; i++) {
        const double at = x_of(f, ticks[i].at);
        const double half = takt_canvas_text_width(ticks[i].name, SMALL) / 2;
        takt_canvas_line(&f->c, (takt_point){at, bottom}, (takt_point){at, bottom + 5}, 1, grid);
        write_left_of(f, ticks[i].name, fmin(at + half, WIDTH - 4), bottom + 20);
    }
    takt_canvas_line(&f->c, (takt_point){LEFT, bottom}, (takt_point){WIDTH - RIGHT, bottom}, 1.2,
                     faint);
    takt_canvas_text(&f->c, p->title, (takt_point){LEFT, 27}, LARGE, ink);
    const double right_of = LEFT + takt_canvas_text_width(p->title, LARGE) + 14;
    takt_canvas_text(&f->c, p->y_label, (takt_point){right_of, 27}, SMALL, faint);
    write_left_of(f, p->x_label, WIDTH - RIGHT, HEIGHT - 14);
}

static void draw_steps(picture *f, const takt_plot *p)
{
    char text[24];
    for (size_t i = 0; i < p->step_count; i++) {
        const size_t k = p->steps[i].at;
        if (k == 0 || k >= p->count)
            continue;
        const double at = (x_of(f, p->points[k - 1].x) + x_of(f, p->points[k].x)) / 2;
        takt_canvas_line(&f->c, (takt_point){at, TOP}, (takt_point){at, HEIGHT - BOTTOM}, 1.2,
                         mark);
        snprintf(text, sizeof text, "%+.1f %%", 100 * p->steps[i].change);
        const double wide = takt_canvas_text_width(text, SMALL);
        const bool is_left = at > WIDTH - 120 || (p->steps[i].change > 0 && at > LEFT + wide + 12);
        takt_canvas_text(&f->c, text, /* where the line is low */
                         (takt_point){is_left ? at - wide - 6 : at + 6, TOP + 14}, SMALL, mark);
    }
}

/* ---- dots ---- */

/* The previous point of the same series, or the point itself. */
static const takt_plot_point *before(const takt_plot *p, size_t i)
{
    for (size_t k = i; k > 0; k--)
        if (p->points[k - 1].series == p->points[i].series)
            return &p->points[k - 1];
    return &p->points[i];
}

static void draw_interval(picture *f, const takt_plot_point *q)
{
    const double x = x_of(f, q->x), low = y_of(f, q->low), high = y_of(f, q->high);
    takt_canvas_line(&f->c, (takt_point){x, low}, (takt_point){x, high}, 1.2, colour_of(q));
    takt_canvas_line(&f->c, (takt_point){x - 4, low}, (takt_point){x + 4, low}, 1.2, colour_of(q));
    takt_canvas_line(&f->c, (takt_point){x - 4, high}, (takt_point){x + 4, high}, 1.2,
                     colour_of(q));
}

/* Dots beyond the edge are separated and counted. */
static void draw_dots(picture *f, const takt_plot *p)
{
    size_t beyond = 0;
    double most = 0;
    for (size_t i = 0; p->joined && i < p->count; i++) {
        const takt_plot_point *q = &p->points[i], *last = before(p, i);
        takt_canvas_line(&f->c, place(f, last->x, last->y), place(f, q->x, q->y), 1.8,
                         colour_of(q));
    }
    for (size_t i = 0; i < p->count; i++) {
        const takt_plot_point *q = &p->points[i];
        const bool is_beyond = p->y_most > 0 && q->y > p->y_most;
        if (q->high > q->low)
            draw_interval(f, q);
        takt_canvas_disc(&f->c, place(f, q->x, q->y), p->count > 100 ? 1.2 : 3.4,
                         is_beyond ? mark : colour_of(q));
        beyond += is_beyond;
        most = fmax(most, q->y);
    }
    char text[64], name[24];
    snprintf(text, sizeof text, "%zu beyond, up to %s", beyond, takt_axis_label(most, name));
    if (beyond > 0)
        write_left_of(f, text, WIDTH - RIGHT, 27);
}

/* Names of several series in the upper right corner, the last one first. */
static void draw_legend(picture *f, const takt_plot *p)
{
    double end = WIDTH - RIGHT;
    if (p->points[0].series == p->points[p->count - 1].series)
        return;
    for (size_t i = p->count; i-- > 0;) {
        const takt_plot_point *q = &p->points[i];
        if (q->name == NULL || (i + 1 < p->count && q[1].series == q->series))
            continue;
        write_left_of(f, q->name, end, 27);
        end -= takt_canvas_text_width(q->name, SMALL) + 8;
        takt_canvas_disc(&f->c, (takt_point){end, 27 - SMALL / 3.0}, 3.4, colour_of(q));
        end -= 16;
    }
}

takt_status takt_plot_png(takt_text *text, const takt_plot *p)
{
    picture f;
    if (p->count == 0)
        return takt_fail(text->ctx, TAKT_E_SAMPLE, "there is nothing to draw");
    TAKT_TRY(takt_canvas_init(&f.c, text->ctx, WIDTH, HEIGHT, SCALE));
    fit(&f, p);
    axes(&f, p);
    draw_steps(&f, p);
    draw_dots(&f, p);
    draw_legend(&f, p);
    if (p->level > 0)
        takt_canvas_line(&f.c, (takt_point){LEFT, y_of(&f, p->level)},
                         (takt_point){WIDTH - RIGHT, y_of(&f, p->level)}, 1.2, mark);
    const takt_status status = takt_canvas_png(text, &f.c);
    takt_canvas_deinit(&f.c);
    return status;
}
