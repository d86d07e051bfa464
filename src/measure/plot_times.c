/* plot_times.c - times of runs: as a histogram, in order, the slow tail, two series in one plot. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "measure/plot_axis.h"
#include "stats/stats.h"

enum { WIDTH = TAKT_PLOT_WIDTH, HEIGHT = TAKT_PLOT_HEIGHT, LEFT = TAKT_PLOT_LEFT };
enum { RIGHT = TAKT_PLOT_RIGHT, TOP = TAKT_PLOT_TOP, BOTTOM = TAKT_PLOT_BOTTOM, BINS = 48 };

/* ---- the distribution ---- */

typedef struct histogram {
    size_t bins[BINS], count, most;
    double low, high, width;
} histogram;

static void count_bins(const takt_timing *t, histogram *h)
{
    h->low = t->stats.min;
    h->high = fmax(takt_plot_end(t), h->low + 1);
    /* A few times in many bins would be a comb without information. */
    h->count = (size_t)fmin(BINS, fmax(6, ceil(2 * sqrt((double)t->count))));
    h->width = (h->high - h->low) / (double)h->count;
    h->most = 1;
    for (size_t i = 0; i < t->count; i++) {
        const double at = (t->samples[i] - h->low) / h->width;
        if (t->samples[i] <= h->high)
            h->bins[at < (double)h->count - 1 ? (size_t)fmax(at, 0) : h->count - 1]++;
    }
    for (size_t i = 0; i < h->count; i++)
        h->most = h->bins[i] > h->most ? h->bins[i] : h->most;
}

static void upright(takt_text *text, const char *class, double at)
{
    takt_text_add(text, "<line class=\"%s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", class,
                  at, at, TOP, HEIGHT - BOTTOM);
}

void takt_plot_distribution(takt_text *text, const takt_timing *t)
{
    const takt_stats *s = &t->stats;
    histogram h = {0};
    double scale;
    count_bins(t, &h);
    const char *unit = takt_time_word(h.high, &scale);
    const takt_axis x = takt_x_axis(h.low * scale, h.high * scale, false),
                    y = takt_y_axis(0, fmax(4, (double)h.most), false); /* whole numbers */
    takt_plot_begin(text, "Distribution", unit, "runs");
    takt_axis_ticks(text, &x, true);
    takt_axis_ticks(text, &y, false);
    for (size_t i = 0; i < h.count; i++) {
        const double left = takt_axis_place(&x, (h.low + (double)i * h.width) * scale);
        const double right = takt_axis_place(&x, (h.low + (double)(i + 1) * h.width) * scale);
        const double top = takt_axis_place(&y, (double)h.bins[i]);
        if (h.bins[i] > 0)
            takt_text_add(
                text, "<rect class=\"d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                left, top, fmax(right - left - 0.5, 0.5), y.from - top);
    }
    const double from = takt_axis_place(&x, fmin(s->median_ci.low * scale, x.high));
    const double to = takt_axis_place(&x, fmin(s->median_ci.high * scale, x.high));
    takt_text_add(text, "<rect class=\"b\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                  from, TOP, fmax(1, to - from), HEIGHT - BOTTOM - TOP);
    upright(text, "m", takt_axis_place(&x, s->median * scale));
    takt_plot_beyond(text, t, h.high);
    takt_text_add(text, "</svg>\n");
}

/* ---- in order ---- */

void takt_plot_series(takt_text *text, const takt_timing *t)
{
    const double high = fmax(takt_plot_end(t), t->stats.min + 1);
    double scale;
    const char *unit = takt_time_word(high, &scale);
    const double room = 0.03 * (high - t->stats.min) * scale;
    const takt_axis x = takt_x_axis(0, fmax(1, (double)t->count - 1), false);
    const takt_axis y = takt_y_axis(t->stats.min * scale - room, high * scale + room, false);
    /* More dots than pixels would make a large file and no better plot. */
    const size_t stride = t->count / 2000 + 1;
    const double middle = takt_axis_place(&y, t->stats.median * scale);
    takt_plot_begin(text, "In order", "run", unit);
    takt_axis_ticks(text, &x, true);
    takt_axis_ticks(text, &y, false);
    for (size_t i = 0; i < t->count; i += stride)
        takt_text_add(text, "<circle class=\"%s\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\"/>\n",
                      t->samples[i] > high ? "w" : "d", t->count > 200 ? 1.3 : 3.0,
                      takt_axis_place(&x, (double)i),
                      takt_axis_place(&y, fmin(t->samples[i], high) * scale));
    takt_text_add(text, "<line class=\"m\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                  WIDTH - RIGHT, middle, middle);
    takt_plot_beyond(text, t, high);
    takt_text_add(text, "</svg>\n");
}

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
