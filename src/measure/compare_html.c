/* compare_html.c - comparisons as a page with intervals and distributions. */
#include <string.h>

#include "measure/compare_report.h"
#include "measure/plot.h"

static bool has_times(const takt_timing *t)
{
    return t != NULL && t->count > 0;
}

static void details(const takt_compare_report *r)
{
    const takt_comparison *c = r->c;
    takt_text_add(r->text, "<table><tr><th></th><th>median</th></tr>\n<tr><td>A: ");
    takt_html_text(r->text, r->of->a);
    takt_text_add(r->text, "</td><td>%.5g us</td></tr>\n<tr><td>B: ", c->a_ns * 1e-3);
    takt_html_text(r->text, r->of->b);
    takt_text_add(r->text,
                  "</td><td>%.5g us</td></tr>\n</table>\n<p>Equivalence test: p = %.3g. The "
                  "smallest change that shows 8 times in 10 is about %.2f&nbsp;%%.</p>\n",
                  c->b_ns * 1e-3, c->same_p, 100 * c->detectable);
}

static void plots(const takt_compare_report *r, const char *name, const takt_timing *t)
{
    if (!has_times(t))
        return;
    takt_text_add(r->text, "<h2>");
    takt_html_text(r->text, name);
    takt_text_add(r->text, "</h2>\n<div class=\"plots\">\n");
    takt_plot_distribution(r->text, t);
    takt_plot_series(r->text, t);
    takt_text_add(r->text, "</div>\n");
}

static const char *title_of(const takt_comparison *c)
{
    return c->verdict == TAKT_SAME     ? "The same"
           : c->verdict == TAKT_FASTER ? "Faster"
           : c->verdict == TAKT_SLOWER ? "Slower"
                                       : "Inconclusive";
}

static void write_one(const takt_compare_report *r)
{
    const takt_comparison *c = r->c;
    takt_html_begin(r->text, "Comparison", "");
    takt_text_add(r->text, "<h1>%s</h1>\n<p>", title_of(c));
    takt_compare_sentence(r, takt_html_text);
    takt_text_add(r->text, "</p>\n<p>");
    takt_compared_unlike(r->text, r->of, takt_html_text);
    takt_text_add(r->text, "</p>\n");
    takt_compared_warn(r->text, r->of);
    takt_text_add(r->text, "<div class=\"plots\">\n");
    const takt_plot_bar bars[] = {
        {"B against A", 100 * (c->ci.low - 1), 100 * (c->ratio - 1), 100 * (c->ci.high - 1), false},
        {"margin", -100 * c->margin, 0, 100 * c->margin, true},
        {"A against itself", -100 * c->noise, 0, 100 * c->noise, true}};
    takt_plot_bars(r->text, "Difference in time, 95 % interval", "percent; right of 0: B is slower",
                   bars, c->noise > 0 ? 3 : 2);
    if (has_times(r->of->a_timing) && has_times(r->of->b_timing))
        takt_plot_two(r->text, r->of->a_timing, r->of->b_timing);
    takt_text_add(r->text, "</div>\n");
    details(r);
    plots(r, r->of->a, r->of->a_timing);
    plots(r, r->of->b, r->of->b_timing);
    takt_text_add(r->text, "</body></html>\n");
}

/* ---- several ---- */

enum { MOST_BARS = 64 };

static void first_row(const takt_compare_report *r)
{
    takt_text_add(r->text, "<tr><td>");
    takt_html_text(r->text, r->of->a);
    takt_text_add(r->text, "</td><td>%.5g us</td><td></td><td></td><td></td><td></td></tr>\n",
                  r->c->a_ns * 1e-3);
}

static void table_row(const takt_compare_report *r)
{
    const takt_comparison *c = r->c;
    takt_text_add(r->text, "<tr><td>");
    takt_html_text(r->text, r->of->b);
    takt_text_add(r->text,
                  "</td><td>%.5g us</td><td>%+.2f&nbsp;%%</td><td>%+.2f to "
                  "%+.2f&nbsp;%%</td><td>%s</td><td>%zu</td></tr>\n",
                  c->b_ns * 1e-3, 100 * (c->ratio - 1), 100 * (c->ci.low - 1),
                  100 * (c->ci.high - 1), takt_verdict_name(c->verdict), c->blocks);
}

/* Whether all have the same first side; the cases of two result files do not. */
static bool have_one_first(const takt_compare_report *reports, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(reports[i].of->a, reports->of->a) != 0)
            return false;
    return true;
}

static void page_title(const takt_compare_report *reports, size_t count)
{
    takt_text *text = reports->text;
    if (have_one_first(reports, count)) {
        takt_text_add(text, "<h1>%zu compared with ", count);
        takt_html_text(text, reports->of->a);
    } else {
        takt_text_add(text, "<h1>%zu comparisons", count);
    }
    takt_text_add(text, "</h1>\n<div class=\"plots\">\n");
}

/* Everything against the first: one table, one plot, and each pair. */
static void write_several(const takt_compare_report *reports, size_t count)
{
    takt_text *text = reports->text;
    takt_plot_bar bars[MOST_BARS];
    const size_t shown = count < MOST_BARS - 1 ? count : MOST_BARS - 1;
    for (size_t i = 0; i < shown; i++) {
        const takt_comparison *c = reports[i].c;
        bars[i] = (takt_plot_bar){reports[i].of->b, 100 * (c->ci.low - 1), 100 * (c->ratio - 1),
                                  100 * (c->ci.high - 1), false};
    }
    bars[shown] =
        (takt_plot_bar){"margin", -100 * reports->c->margin, 0, 100 * reports->c->margin, true};
    takt_html_begin(text, "Comparison", "");
    page_title(reports, count);
    takt_plot_bars(text, "Difference in time, 95 % interval", "percent; right of 0: slower", bars,
                   shown + 1);
    takt_text_add(text, "</div>\n<table><tr><th></th><th>median</th><th>difference</th>"
                        "<th>95&nbsp;%% interval</th><th>verdict</th><th>blocks</th></tr>\n");
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(reports[i].of->a, reports[i - 1].of->a) != 0)
            first_row(&reports[i]);
        table_row(&reports[i]);
    }
    takt_text_add(text, "</table>\n");
    for (size_t i = 0; i < count; i++) {
        takt_text_add(text, "<h2>%s: ", title_of(reports[i].c));
        takt_html_text(text, reports[i].of->b);
        takt_text_add(text, "</h2>\n<p>");
        takt_compare_sentence(&reports[i], takt_html_text);
        takt_text_add(text, "</p>\n<p>");
        takt_compared_unlike(text, reports[i].of, takt_html_text);
        takt_text_add(text, "</p>\n");
        takt_compared_warn(text, reports[i].of);
        takt_text_add(text, "<div class=\"plots\">\n");
        if (has_times(reports[i].of->a_timing) && has_times(reports[i].of->b_timing))
            takt_plot_two(text, reports[i].of->a_timing, reports[i].of->b_timing);
        if (has_times(reports[i].of->b_timing))
            takt_plot_distribution(text, reports[i].of->b_timing);
        takt_text_add(text, "</div>\n");
    }
    takt_text_add(text, "</body></html>\n");
}

void takt_compare_html(const takt_compare_report *reports, size_t count)
{
    if (count == 1)
        write_one(reports);
    else
        write_several(reports, count);
}
