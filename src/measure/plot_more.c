/* plot_more.c - the slow tail of a distribution, two series in one plot, intervals, rooflines. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "measure/ceilings.h"
#include "measure/plot_axis.h"
#include "stats/stats.h"

enum { WIDTH = TAKT_PLOT_WIDTH, HEIGHT = TAKT_PLOT_HEIGHT, LEFT = TAKT_PLOT_LEFT };
enum { RIGHT = TAKT_PLOT_RIGHT, TOP = TAKT_PLOT_TOP, BOTTOM = TAKT_PLOT_BOTTOM };

/* ---- the slow tail ---- */

static void percentile_mark(takt_text *text, const takt_axis *x, double part, const char *name)
{
    const double at = takt_axis_place(x, 1 / (1 - part));
    takt_text_add(text,
                  "<line class=\"a\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                  "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                  at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 16, name);
}

static void tail_line(takt_text *text, const double *sorted, size_t count, const takt_axis *x,
                      const takt_axis *y)
{
    double last = -10, scale;
    takt_time_word(sorted[count / 2], &scale);
    takt_text_add(text, "<polyline class=\"s\" points=\"");
    for (size_t i = 0; i < count; i++) {
        const double at = takt_axis_place(x, (double)count / (double)(count - i));
        if (at - last < 0.7 && i + 1 < count)
            continue; /* less than a pixel further */
        last = at;
        takt_text_add(text, "%.1f,%.1f ", at, takt_axis_place(y, sorted[i] * scale));
    }
    takt_text_add(text, "\"/>\n");
}

void takt_plot_tail(takt_text *text, const takt_timing *t)
{
    static const struct {
        double part;
        const char *name;
    } marks[] = {{0, "min"},    {0.5, "p50"},     {0.9, "p90"},
                 {0.99, "p99"}, {0.999, "p99.9"}, {0.9999, "p99.99"}};
    void *block;
    if (takt_mem_get(text->ctx, t->count * sizeof(double), "a plot", &block) != TAKT_OK) {
        text->status = TAKT_ERR_MEMORY;
        return;
    }
    double *sorted = block;
    memcpy(sorted, t->samples, t->count * sizeof(double));
    takt_sort_doubles(sorted, t->count);
    double scale;
    const char *unit = takt_time_word(sorted[t->count / 2], &scale);
    const double low = sorted[0] * scale, high = fmax(sorted[t->count - 1] * scale, low * 1.05);
    const takt_axis x = takt_x_axis(1, fmax(2, (double)t->count), true);
    const takt_axis y = takt_y_axis(low * 0.97, high * 1.03, high > 3 * low);
    takt_plot_begin(text, "The slow end", "part of the runs that is faster", unit);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (1 / (1 - marks[i].part) <= x.high)
            percentile_mark(text, &x, marks[i].part, marks[i].name);
    takt_axis_ticks(text, &y, false);
    tail_line(text, sorted, t->count, &x, &y);
    takt_text_add(text, "</svg>\n");
    takt_mem_put(text->ctx, block, t->count * sizeof(double));
}

/* ---- two series ---- */

typedef struct pair {
    takt_axis x, y;
    double scale;
} pair;

static void one_of_two(takt_text *text, const takt_timing *t, const pair *p, const char *class)
{
    const size_t stride = t->count / 1000 + 1;
    const double radius = t->count > 200 ? 1.5 : 3;
    const double middle = takt_axis_place(&p->y, t->stats.median * p->scale);
    for (size_t i = 0; i < t->count; i += stride)
        takt_text_add(text, "<circle class=\"%s\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\"/>\n", class,
                      radius, takt_axis_place(&p->x, (double)i / (double)t->count),
                      takt_axis_place(&p->y, fmin(t->samples[i] * p->scale, p->y.high)));
    takt_text_add(text, "<line class=\"%s l\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n",
                  class, LEFT, WIDTH - RIGHT, middle, middle);
}

void takt_plot_two(takt_text *text, const takt_timing *a, const takt_timing *b)
{
    const double least = fmin(a->stats.min, b->stats.min);
    const double most = fmax(takt_plot_end(a), takt_plot_end(b));
    pair p = {.x = takt_x_axis(0, 1, false)};
    const char *unit = takt_time_word(most, &p.scale);
    const double low = least * p.scale, high = fmax(most * p.scale, low * 1.001);
    /* If far apart, both would be lines at the edges. */
    p.y = high > 5 * low
              ? takt_y_axis(low / 1.1, high * 1.1, true)
              : takt_y_axis(low - 0.03 * (high - low), high + 0.03 * (high - low), false);
    takt_plot_begin(text, "Both in order, with their medians", "from first to last", unit);
    takt_axis_ticks(text, &p.y, false);
    one_of_two(text, a, &p, "d");
    one_of_two(text, b, &p, "w");
    takt_text_add(
        text,
        "<circle class=\"d\" r=\"4\" cx=\"%d\" cy=\"14\"/><text x=\"%d\" y=\"18\">A</text>"
        "<circle class=\"w\" r=\"4\" cx=\"%d\" cy=\"14\"/><text x=\"%d\" y=\"18\">B</text>"
        "</svg>\n",
        WIDTH - 90, WIDTH - 82, WIDTH - 54, WIDTH - 46);
}

/* ---- intervals ---- */

void takt_plot_bars(takt_text *text, const char *title, const char *unit, const takt_plot_bar *bars,
                    size_t count)
{
    enum { NAMES = 170 };
    double low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, bars[i].low);
        high = fmax(high, bars[i].high);
    }
    const double room = 0.08 * fmax(high - low, 1e-9);
    takt_axis x = takt_x_axis(low - room, high + room, false);
    x.from = NAMES;
    takt_plot_begin(text, title, unit, "");
    takt_axis_ticks(text, &x, true);
    takt_text_add(text, "<line class=\"z\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
                  takt_axis_place(&x, 0), takt_axis_place(&x, 0), TOP, HEIGHT - BOTTOM);
    for (size_t i = 0; i < count; i++) {
        const double y = TOP + (HEIGHT - TOP - BOTTOM) * ((double)i + 0.5) / (double)count;
        const double from = takt_axis_place(&x, bars[i].low),
                     to = takt_axis_place(&x, bars[i].high);
        takt_text_add(text, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", NAMES - 12, y + 4);
        takt_html_text(text, bars[i].name);
        takt_text_add(text,
                      "</text><rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                      "height=\"%d\" rx=\"3\"/>\n",
                      bars[i].is_band ? "b" : "d", from, y - (bars[i].is_band ? 14 : 5),
                      fmax(2, to - from), bars[i].is_band ? 28 : 10);
        if (!bars[i].is_band)
            takt_text_add(text, "<circle class=\"w\" r=\"7\" cx=\"%.1f\" cy=\"%.1f\"/>\n",
                          takt_axis_place(&x, bars[i].value), y);
    }
    takt_text_add(text, "</svg>\n");
}

void takt_plot_roofline(takt_text *text, const takt_ceiling *c, const takt_plot_point *points,
                        size_t count)
{
    takt_plot plot = {.title = "Roofline",
                      .x_label = "FLOP per byte",
                      .y_label = "GFLOP/s",
                      .x_log = true,
                      .y_log = true,
                      .labels = true,
                      .points = points,
                      .count = count,
                      .roof = c->f32_gflops};
    for (int i = 0; i < TAKT_LEVELS; i++) {
        plot.slopes[i] = c->read_gbs[i];
        plot.slope_names[i] = takt_level_names[i];
    }
    if (count > 0)
        takt_plot_points(text, &plot);
}
