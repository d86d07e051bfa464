/* plot.c - axes, dots, histograms: enough to see what a table hides. */
#include "measure/plot.h"

#include <math.h>

#include "measure/plot_axis.h"

enum { WIDTH = TAKT_PLOT_WIDTH, HEIGHT = TAKT_PLOT_HEIGHT, LEFT = TAKT_PLOT_LEFT };
enum { RIGHT = TAKT_PLOT_RIGHT, TOP = TAKT_PLOT_TOP, BOTTOM = TAKT_PLOT_BOTTOM, BINS = 48 };

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
        "margin:2rem auto;max-width:1080px;padding:0 1rem}\n"
        "h1{font-size:1.6rem;margin:0;overflow-wrap:anywhere}"
        "h2,summary{font-size:1.1rem;font-weight:600;margin:1.6rem 0 .6rem}"
        "summary{cursor:pointer;margin:.8rem 0 .4rem}"
        "p{color:var(--soft);margin:.3rem 0}.warn{color:var(--warm);font-weight:600}\n"
        "table{border-collapse:collapse;width:100%%;margin:1rem 0;"
        "font-variant-numeric:tabular-nums}"
        "th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right}"
        "th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:500}"
        "tr.best td{background:var(--band)}td.bar{width:22%%}"
        "td.bar i{display:block;height:.7rem;background:var(--dot);border-radius:3px}\n"
        ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:.8rem;"
        "margin:1.2rem 0}.card{background:var(--card);border-radius:8px;padding:.7rem 1rem}"
        ".card span{display:block;color:var(--soft);font-size:.82rem}"
        ".card b{font-size:1.35rem;font-weight:600}\n"
        ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(460px,100%%),1fr));"
        "gap:1rem;margin:1rem 0}"
        "svg{background:var(--card);border-radius:8px;width:100%%;height:auto}"
        "svg text{fill:var(--soft);font:12px system-ui,sans-serif}"
        "svg .t{fill:var(--ink);font-weight:600}"
        ".a{stroke:var(--line)}.z{stroke:var(--soft);stroke-dasharray:4 3}.d{fill:var(--dot)}"
        ".s{stroke:var(--dot);fill:none;stroke-width:1.5}.s.o{stroke:var(--warm)}"
        ".w{fill:var(--warm)}"
        ".l{stroke-width:1.5;stroke:var(--dot)}.w.l{stroke:var(--warm)}"
        ".m{stroke:var(--warm);stroke-width:1.5;fill:none}.b{fill:var(--band)}\n"
        "pre,code{font:13px/1.5 ui-monospace,monospace;color:var(--soft);white-space:pre-wrap;"
        "overflow-wrap:anywhere}footer{margin-top:2rem;border-top:1px solid var(--line);"
        "padding-top:.8rem}\n");
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
    const takt_axis x = takt_x_axis(low * 1e-3, high * 1e-3, false),
                    y = takt_y_axis(0, (double)most, false);
    takt_plot_begin(text, "Distribution", "microseconds", "runs");
    takt_axis_ticks(text, &x, true);
    takt_axis_ticks(text, &y, false);
    for (size_t i = 0; i < BINS; i++) {
        const double left = takt_axis_place(&x, (low + (double)i * width) * 1e-3);
        const double right = takt_axis_place(&x, (low + (double)(i + 1) * width) * 1e-3);
        const double top = takt_axis_place(&y, (double)bins[i]);
        takt_text_add(text,
                      "<rect class=\"d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
                      left, top, fmax(right - left - 0.5, 0.5), y.from - top);
    }
    takt_text_add(text, "<rect class=\"b\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>\n",
                  takt_axis_place(&x, s->median_ci.low * 1e-3), TOP,
                  fmax(1, takt_axis_place(&x, s->median_ci.high * 1e-3) -
                              takt_axis_place(&x, s->median_ci.low * 1e-3)),
                  HEIGHT - BOTTOM - TOP);
    takt_text_add(text, "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n",
                  takt_axis_place(&x, s->median * 1e-3), takt_axis_place(&x, s->median * 1e-3), TOP,
                  HEIGHT - BOTTOM);
    if (beyond > 0)
        takt_text_add(text, "<text x=\"%d\" y=\"18\" text-anchor=\"end\">%zu beyond</text>\n",
                      WIDTH - RIGHT, beyond);
    takt_text_add(text, "</svg>\n");
}

void takt_plot_series(takt_text *text, const takt_timing *t)
{
    const double high = fmax(shown_end(t), t->stats.min + 1);
    const takt_axis x = takt_x_axis(0, fmax(1, (double)t->count - 1), false);
    const takt_axis y = takt_y_axis(t->stats.min * 1e-3, high * 1e-3, false);
    /* More dots than pixels would make a large file and no better picture. */
    const size_t stride = t->count / 2000 + 1;
    takt_plot_begin(text, "In order", "run", "microseconds");
    takt_axis_ticks(text, &x, true);
    takt_axis_ticks(text, &y, false);
    for (size_t i = 0; i < t->count; i += stride)
        takt_text_add(text, "<circle class=\"d\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\"/>\n",
                      t->count > 200 ? 1.3 : 3.0, takt_axis_place(&x, (double)i),
                      takt_axis_place(&y, fmin(t->samples[i], high) * 1e-3));
    takt_text_add(text, "<line class=\"m\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n</svg>\n",
                  LEFT, WIDTH - RIGHT, takt_axis_place(&y, t->stats.median * 1e-3),
                  takt_axis_place(&y, t->stats.median * 1e-3));
}

/* ---- dots ---- */

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

static void draw_roof(takt_text *text, const takt_plot *p, const takt_axis *x, const takt_axis *y)
{
    double last = -100;    /* height of the last name */
    double left = x->high; /* where the first slope meets the roof */
    for (int i = 0; i < TAKT_LEVELS; i++) {
        const double knee = p->slopes[i] > 0 ? p->roof / p->slopes[i] : 0;
        if (knee <= 0)
            continue;
        const double from = fmax(x->low, y->low / p->slopes[i]);
        left = fmin(left, fmax(x->low, knee));
        if (from >= knee)
            continue;
        takt_text_add(text, "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                      takt_axis_place(x, from), takt_axis_place(x, fmin(knee, x->high)),
                      takt_axis_place(y, p->slopes[i] * from),
                      takt_axis_place(y, p->slopes[i] * fmin(knee, x->high)));
        const double height = takt_axis_place(y, p->slopes[i] * from) - 5;
        if (fabs(height - last) > 13) /* names must not lie on each other */
            takt_text_add(text, "<text x=\"%.1f\" y=\"%.1f\">%s %.3g GB/s</text>\n",
                          takt_axis_place(x, from) + 6, last = height, p->slope_names[i],
                          p->slopes[i]);
    }
    takt_text_add(text,
                  "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                  "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.3g GFLOP/s</text>\n",
                  takt_axis_place(x, left), takt_axis_place(x, x->high),
                  takt_axis_place(y, p->roof), takt_axis_place(y, p->roof),
                  takt_axis_place(x, x->high) - 4, takt_axis_place(y, p->roof) - 5, p->roof);
}

/* More joined dots than this hide their line. */
enum { DOTS = 80 };

static void draw_point(takt_text *text, const takt_plot *p, const takt_plot_point *q,
                       const takt_axis *x, const takt_axis *y)
{
    const double at = takt_axis_place(x, q->x), height = takt_axis_place(y, q->y);
    if (q->high > q->low)
        takt_text_add(text, "<line class=\"s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>",
                      at, at, takt_axis_place(y, q->low), takt_axis_place(y, q->high));
    const bool is_other = p->joined && (q->series - p->points[0].series) % 2 != 0;
    const double size = p->joined && p->count > DOTS ? 1.2 : 4 + 6 * q->weight;
    takt_text_add(text, "<circle class=\"%s\" r=\"%.1f\" cx=\"%.1f\" cy=\"%.1f\"><title>",
                  is_other ? "w" : "d", size, at, height);
    takt_html_text(text, q->name);
    takt_text_add(text, ": %.4g</title></circle>\n", q->y);
}

/* A line through the points of each series, with its name at the end where there are several. */
static void draw_lines(takt_text *text, const takt_plot *p, const takt_axis *x, const takt_axis *y)
{
    int number = 0; /* of the series: every other one has another colour */
    const bool several = p->count > 0 && p->points[0].series != p->points[p->count - 1].series;
    for (size_t i = 0; i < p->count; i++) {
        const takt_plot_point *q = &p->points[i];
        const bool begins = i == 0 || q[-1].series != q->series;
        const bool ends = i + 1 == p->count || q[1].series != q->series;
        if (begins)
            takt_text_add(text, "<polyline class=\"s%s\" points=\"", number % 2 != 0 ? " o" : "");
        takt_text_add(text, "%.1f,%.1f ", takt_axis_place(x, q->x), takt_axis_place(y, q->y));
        if (ends)
            takt_text_add(text, "\"/>\n");
        if (ends && several)
            takt_text_add(text, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                          takt_axis_place(x, q->x) - 6,
                          takt_axis_place(y, q->y) + (number % 2 != 0 ? 18 : -8), q->name);
        number += ends;
    }
}

void takt_plot_points(takt_text *text, const takt_plot *p)
{
    takt_axis x = takt_x_axis(INFINITY, -INFINITY, p->x_log),
              y = takt_y_axis(INFINITY, -INFINITY, p->y_log);
    for (size_t i = 0; i < p->count; i++) {
        reach(&x, p->points[i].x);
        reach(&y, p->points[i].y);
        if (p->points[i].high > p->points[i].low) {
            reach(&y, p->points[i].low);
            reach(&y, p->points[i].high);
        }
    }
    for (int i = 0; i < TAKT_LEVELS && p->roof > 0; i++)
        if (p->slopes[i] > 0)
            reach(&x, p->roof / p->slopes[i] * 1.5);
    if (p->roof > 0)
        reach(&y, p->roof);
    if (!isfinite(x.low) || !isfinite(y.low))
        return;
    widen(&x);
    widen(&y);
    takt_plot_begin(text, p->title, p->x_label, p->y_label);
    takt_axis_ticks(text, &x, true);
    takt_axis_ticks(text, &y, false);
    if (p->roof > 0)
        draw_roof(text, p, &x, &y);
    if (p->joined)
        draw_lines(text, p, &x, &y);
    if (p->step > 0 && p->step < p->count) {
        const double at = (takt_axis_place(&x, p->points[p->step - 1].x) +
                           takt_axis_place(&x, p->points[p->step].x)) /
                          2;
        takt_text_add(text, "<line class=\"m\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", at,
                      at, TOP, HEIGHT - BOTTOM);
    }
    for (size_t i = 0; i < p->count; i++)
        draw_point(text, p, &p->points[i], &x, &y);
    for (size_t i = 0; i < p->count && p->labels; i++) {
        const bool is_right = takt_axis_place(&x, p->points[i].x) > 0.6 * WIDTH;
        takt_text_add(text, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                      takt_axis_place(&x, p->points[i].x) + (is_right ? -12 : 12),
                      takt_axis_place(&y, p->points[i].y) + 4, is_right ? "end" : "start");
        takt_html_text(text, p->points[i].name);
        takt_text_add(text, "</text>\n");
    }
    takt_text_add(text, "</svg>\n");
}
