/* plot.c - the style of a report, plots as files of their own, intervals and rooflines. */
#include "measure/plot.h"

#include <math.h>

#include "measure/ceilings.h"
#include "measure/plot_axis.h"

enum { WIDTH = TAKT_PLOT_WIDTH, HEIGHT = TAKT_PLOT_HEIGHT };
enum { TOP = TAKT_PLOT_TOP, BOTTOM = TAKT_PLOT_BOTTOM };

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

/* Colours, fonts and boxes of every report. */
static void style(takt_text *text)
{
    takt_text_add(
        text,
        ":root{color-scheme:light dark;--bg:#fff;--ink:#1c2330;--soft:#5b6675;--line:#d9dee6;"
        "--dot:#2563c9;--band:#2563c926;--warm:#c2410c;--card:#f6f8fb;--c2:#15803d;--c3:#7c3aed;"
        "--c4:#a16207;--c5:#be185d}\n"
        "@media(prefers-color-scheme:dark){:root{--bg:#12161d;--ink:#e6eaf0;--soft:#98a4b5;"
        "--line:#2c3442;--dot:#7cb0ff;--band:#7cb0ff2e;--warm:#ff9a5c;--card:#1a202a;--c2:#5fd38d;"
        "--c3:#b79bff;--c4:#e3b341;--c5:#ff8ac2}}\n"
        "body{background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,sans-serif;"
        "margin:2rem auto;max-width:1080px;padding:0 1rem}\n"
        ".wide{overflow-x:auto}h1{font-size:1.6rem;margin:0;overflow-wrap:anywhere}"
        "h2,summary{font-size:1.1rem;font-weight:600;margin:1.6rem 0 .6rem}"
        "summary{cursor:pointer;margin:.8rem 0 .4rem}"
        "p{color:var(--soft);margin:.3rem 0}.warn{color:var(--warm);font-weight:600}\n"
        "table{border-collapse:collapse;width:100%%;margin:1rem 0;"
        "font-variant-numeric:tabular-nums}"
        "th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:right}"
        "td+td{white-space:nowrap}th:first-child,td:first-child{text-align:left}"
        "th{color:var(--soft);font-weight:500}"
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
        ".k0{--k:var(--dot)}.k1{--k:var(--warm)}.k2{--k:var(--c2)}.k3{--k:var(--c3)}"
        ".k4{--k:var(--c4)}.k5{--k:var(--c5)}polyline[class^=k]{stroke:var(--k);fill:none;"
        "stroke-width:1.5}circle[class^=k],rect[class^=k]{fill:var(--k)}"
        "rect[class^=k]{fill-opacity:.75;stroke:var(--card)}\n"
        ".a{stroke:var(--line)}.z{stroke:var(--soft);stroke-dasharray:4 3}.d{fill:var(--dot)}"
        ".s{stroke:var(--dot);fill:none;stroke-width:1.5}.s.o{stroke:var(--warm)}"
        ".w{fill:var(--warm)}"
        ".l{stroke-width:1.5;stroke:var(--dot)}.w.l{stroke:var(--warm)}"
        ".m{stroke:var(--warm);stroke-width:1.5;fill:none}.b{fill:var(--band)}\n"
        "pre,code{font:13px/1.5 ui-monospace,monospace;color:var(--soft);white-space:pre-wrap;"
        "overflow-wrap:anywhere}footer{margin-top:2rem;border-top:1px solid var(--line);"
        "padding-top:.8rem}\n");
}

void takt_html_begin(takt_text *text, const char *title, const char *name)
{
    takt_text_add(text,
                  "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>%s",
                  title);
    takt_html_text(text, name);
    takt_text_add(text, " - Takt</title>\n<style>\n");
    style(text);
    takt_text_add(text, "</style></head><body>\n");
}

void takt_plot_svg(takt_text *text, const takt_plot *p)
{
    const int wide = WIDTH / 4 * 3, high = HEIGHT / 4 * 3;
    takt_text_add(text,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\">\n<style>\n",
                  wide, high, 2 * wide, 2 * high);
    style(text);
    takt_text_add(text, "</style>\n<rect width=\"100%%\" height=\"100%%\" "
                        "style=\"fill:var(--card)\"/>\n");
    takt_plot_points(text, p);
    takt_text_add(text, "</svg>\n");
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

/* ---- rooflines ---- */

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
