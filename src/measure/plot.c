/* plot.c - axes, dots, histograms: enough to see what a table hides. */
#include "measure/plot.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 640, HEIGHT = 280, LEFT = 70, RIGHT = 16, TOP = 28, BOTTOM = 44, BINS = 48 };

/* ---- text ---- */

void takt_html_text(takt_text *text, const char *value)
{
    for (; value != NULL && *value != '\0'; value++) {
        switch (*value) {
        case '&': takt_text_add(text, "&amp;"); break;
        case '<': takt_text_add(text, "&lt;"); break;
        case '>': takt_text_add(text, "&gt;"); break;
        case '"': takt_text_add(text, "&quot;"); break;
        default: takt_text_put(text, value, 1); break;
        }
    }
}

void takt_html_style(takt_text *text)
{
    takt_text_add(
        text,
        ":root{color-scheme:light dark;--bg:#fff;--ink:#1c2330;--soft:#5b6675;--line:#d9dee6;"
        "--dot:#2563c9;--band:#2563c926;--warm:#c2410c;--card:#f6f8fb}\n"
        "@media(prefers-color-scheme:dark){:root{--bg:#12161d;--ink:#e6eaf0;--soft:#98a4b5;"
        "--line:#2c3442;--dot:#7cb0ff;--band:#7cb0ff2e;--warm:#ff9a5c;--card:#1a202a}}\n"
        "body{background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif;"
        "margin:2rem auto;max-width:1040px;padding:0 1rem}\n"
        "h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .5rem}"
        "p{color:var(--soft);margin:.3rem 0}\n"
        "table{border-collapse:collapse;width:100%%;font-variant-numeric:tabular-nums}"
        "th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right}"
        "th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:500}\n"
        ".plots{display:flex;flex-wrap:wrap;gap:1rem}"
        "svg{background:var(--card);border-radius:8px;max-width:100%%;height:auto}"
        "svg text{fill:var(--soft);font:12px system-ui,sans-serif}"
        "svg .t{fill:var(--ink);font-weight:600}"
        ".a{stroke:var(--line)}.d{fill:var(--dot)}.s{stroke:var(--dot);fill:none;stroke-width:1.5}"
        ".m{stroke:var(--warm);stroke-width:1.5;fill:none}.b{fill:var(--band)}\n");
}

/* ---- axes ---- */

typedef struct axis {
    double low, high;
    bool is_log;
    double from, to; /* in the picture */
} axis;

static double place(const axis *a, double value)
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

/* "19.5k": exponents would not fit beside the axis. */
static const char *label(double value, char to[static 24])
{
    const double size = fabs(value);
    const double unit = size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : size >= 1e4 ? 1e3 : 1;
    const char *suffix = unit == 1e9 ? "G" : unit == 1e6 ? "M" : unit == 1e3 ? "k" : "";
    snprintf(to, 24, "%.4g%s", value / unit, suffix);
    return to;
}

static void tick(takt_text *text, const axis *a, double value, bool is_x)
{
    const double at = place(a, value);
    char name[24];
    label(value, name);
    if (is_x)
        takt_text_add(text,
                      "<line class=\"a\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>"
                      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                      at, at, TOP, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 16, name);
    else
        takt_text_add(text,
                      "<line class=\"a\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                      LEFT, WIDTH - RIGHT, at, at, LEFT - 6, at + 4, name);
}

static void ticks(takt_text *text, const axis *a, bool is_x)
{
    if (a->is_log) {
        for (double v = pow(10, ceil(log10(a->low) - 1e-9)); v <= a->high * 1.000001; v *= 10)
            tick(text, a, v, is_x);
        return;
    }
    const double step = nice_step(fmax(a->high - a->low, 1e-12));
    int count = 0;
    for (double v = ceil(a->low / step) * step; v <= a->high && count < 20; v += step, count++)
        tick(text, a, fabs(v) < step * 1e-9 ? 0 : v, is_x);
}

static void begin(takt_text *text, const char *title, const char *x_label, const char *y_label)
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

static axis x_axis(double low, double high, bool is_log)
{
    return (axis){low, high, is_log, LEFT, WIDTH - RIGHT};
}

static axis y_axis(double low, double high, bool is_log)
{
    return (axis){low, high, is_log, HEIGHT - BOTTOM, TOP};
}

/* ---- times ---- */

/* Outliers beyond this would press everything else together. */
static double shown_end(const takt_timing *t)
{
    const takt_stats *s = &t->stats;
    return fmin(s->max, fmax(s->percentiles[3].value, s->median + 12 * fmax(s->mad, 1)));
}

void takt_plot_distribution(takt_text *text, const takt_timing *t)
{
    const takt_stats *s = &t->stats;
    size_t bins[BINS] = {0}, most = 1, beyond = 0;
    const double low = s->min, high = fmax(shown_end(t), low + 1), width = (high - low) / BINS;
    for (size_t i = 0; i < t->count; i++) {
        const double at = (t->samples[i] - low) / width;
        const size_t bin = at < BINS - 1 ? (size_t)fmax(at, 0) : BINS - 1;
        beyond += t->samples[i] > high;
        bins[bin]++;
    }
    for (size_t i = 0; i < BINS; i++)
        most = bins[i] > most ? bins[i] : most;
    const axis x = x_axis(low * 1e-3, high * 1e-3, false), y = y_axis(0, (double)most, false);
    begin(text, "Distribution", "microseconds", "runs");
    ticks(text, &x, true);
    ticks(text, &y, false);
    for (size_t i = 0; i < BINS; i++) {
        const double left = place(&x, (low + (double)i * width) * 1e-3);
        const double right = place(&x, (low + (double)(i + 1) * width) * 1e-3);
        const double top = place(&y, (double)bins[i]);
        takt_text_add(text,
                      "<rect class=\"d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                      left, top, fmax(right - left - 0.5, 0.5), y.from - top);
    }
    takt_text_add(text, "<rect class=\"b\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                  place(&x, s->median_ci.low * 1e-3), TOP,
                  fmax(1, place(&x, s->median_ci.high * 1e-3) - place(&x, s->median_ci.low * 1e-3)),
                  HEIGHT - BOTTOM - TOP);
    takt_text_add(text, "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
                  place(&x, s->median * 1e-3), place(&x, s->median * 1e-3), TOP, HEIGHT - BOTTOM);
    if (beyond > 0)
        takt_text_add(text, "<text x=\"%d\" y=\"18\" text-anchor=\"end\">%zu beyond</text>\n",
                      WIDTH - RIGHT, beyond);
    takt_text_add(text, "</svg>\n");
}

void takt_plot_series(takt_text *text, const takt_timing *t)
{
    const double high = fmax(shown_end(t), t->stats.min + 1);
    const axis x = x_axis(0, fmax(1, (double)t->count - 1), false);
    const axis y = y_axis(t->stats.min * 1e-3, high * 1e-3, false);
    /* More dots than pixels would make a large file and no better picture. */
    const size_t stride = t->count / 2000 + 1;
    begin(text, "In order", "run", "microseconds");
    ticks(text, &x, true);
    ticks(text, &y, false);
    for (size_t i = 0; i < t->count; i += stride)
        takt_text_add(text, "<circle class=\"d\" r=\"1.3\" cx=\"%.1f\" cy=\"%.1f\"/>\n",
                      place(&x, (double)i), place(&y, fmin(t->samples[i], high) * 1e-3));
    takt_text_add(text, "<line class=\"m\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n</svg>\n",
                  LEFT, WIDTH - RIGHT, place(&y, t->stats.median * 1e-3),
                  place(&y, t->stats.median * 1e-3));
}

/* ---- dots ---- */

static void widen(axis *a)
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

static void reach(axis *a, double value)
{
    if (!isfinite(value) || (a->is_log && value <= 0))
        return;
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

static void draw_roof(takt_text *text, const takt_plot *p, const axis *x, const axis *y)
{
    const double knee = p->roof / p->slope;
    takt_text_add(text, "<polyline class=\"m\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"/>\n",
                  place(x, x->low), place(y, fmin(p->slope * x->low, p->roof)),
                  place(x, fmax(x->low, fmin(knee, x->high))),
                  place(y, fmin(p->roof, p->slope * fmax(x->low, fmin(knee, x->high)))),
                  place(x, x->high), place(y, fmin(p->slope * x->high, p->roof)));
}

static void draw_point(takt_text *text, const takt_plot_point *q, const axis *x, const axis *y)
{
    const double at = place(x, q->x), height = place(y, q->y);
    if (q->high > q->low)
        takt_text_add(text, "<line class=\"s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                      at, at, place(y, q->low), place(y, q->high));
    takt_text_add(text, "<circle class=\"d\" r=\"4\" cx=\"%.1f\" cy=\"%.1f\"><title>", at, height);
    takt_html_text(text, q->name);
    takt_text_add(text, ": %.4g</title></circle>\n", q->y);
}

void takt_plot_points(takt_text *text, const takt_plot *p)
{
    axis x = x_axis(INFINITY, -INFINITY, p->x_log), y = y_axis(INFINITY, -INFINITY, p->y_log);
    for (size_t i = 0; i < p->count; i++) {
        reach(&x, p->points[i].x);
        reach(&y, p->points[i].y);
        if (p->points[i].high > p->points[i].low) {
            reach(&y, p->points[i].low);
            reach(&y, p->points[i].high);
        }
    }
    if (p->roof > 0) {
        reach(&y, p->roof);
        reach(&x, p->roof / p->slope * 2);
    }
    if (!isfinite(x.low) || !isfinite(y.low))
        return;
    widen(&x);
    widen(&y);
    begin(text, p->title, p->x_label, p->y_label);
    ticks(text, &x, true);
    ticks(text, &y, false);
    if (p->roof > 0 && p->slope > 0)
        draw_roof(text, p, &x, &y);
    if (p->joined && p->count > 1) {
        takt_text_add(text, "<polyline class=\"s\" points=\"");
        for (size_t i = 0; i < p->count; i++)
            takt_text_add(text, "%.1f,%.1f ", place(&x, p->points[i].x), place(&y, p->points[i].y));
        takt_text_add(text, "\"/>\n");
    }
    if (p->step > 0 && p->step < p->count) {
        const double at =
            (place(&x, p->points[p->step - 1].x) + place(&x, p->points[p->step].x)) / 2;
        takt_text_add(text, "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at,
                      at, TOP, HEIGHT - BOTTOM);
    }
    for (size_t i = 0; i < p->count; i++)
        draw_point(text, &p->points[i], &x, &y);
    takt_text_add(text, "</svg>\n");
}
