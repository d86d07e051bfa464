/* trend_write.c - a trend as text, JSON, a page and a plot. */
#include <math.h>
#include <string.h>

#include "measure/plot_axis.h"
#include "measure/png.h"
#include "measure/trend.h"

/* ---- JSON ---- */

static void json_steps(takt_json_writer *w, const takt_trend_view *v)
{
    takt_json_put_open(w, "steps", '[');
    for (size_t i = 0; i < v->step_count; i++) {
        const double change = takt_trend_change(v, i);
        takt_json_open(w, '{');
        takt_json_put_unsigned(w, "at", v->steps[i]);
        takt_json_put_string(w, "timestamp", v->points[v->steps[i]].name);
        takt_json_put_string(w, "commit", v->benches[v->steps[i]]->commit);
        takt_json_put_number(w, "before", v->levels[i]);
        takt_json_put_number(w, "after", v->levels[i + 1]);
        takt_json_put_number(w, "change_pct", 100 * change);
        takt_json_put_bool(w, "worse", (change > 0) != v->metric->more_is_better);
        takt_json_close(w, '}');
    }
    takt_json_close(w, ']');
}

static void write_json(takt_text *text, const takt_trend_view *v)
{
    takt_json_writer w;
    takt_json_begin(&w, text, true);
    takt_json_open(&w, '{');
    takt_json_put_string(&w, "schema", "takt-trend/1");
    takt_json_put_string(&w, "metric", v->metric->name);
    takt_json_put_string(&w, "unit", v->metric->unit);
    takt_json_put_string(&w, "case", v->which);
    takt_json_key(&w, "step_at"); /* the last */
    takt_json_unsigned(&w, v->step_count > 0 ? v->steps[v->step_count - 1] : 0);
    json_steps(&w, v);
    takt_json_put_open(&w, "points", '[');
    for (size_t i = 0; i < v->count; i++) {
        takt_json_open(&w, '{');
        takt_json_put_string(&w, "timestamp", v->points[i].name);
        takt_json_put_string(&w, "commit", v->benches[i]->commit);
        takt_json_put_number(&w, "median", v->points[i].y);
        takt_json_put_number(&w, "low", v->points[i].low);
        takt_json_put_number(&w, "high", v->points[i].high);
        takt_json_put_bool(&w, "incomplete", takt_bench_is_incomplete(v->benches[i]));
        takt_json_close(&w, '}');
    }
    takt_json_close(&w, ']');
    takt_json_close(&w, '}');
    takt_text_put(text, "\n", 1);
}

/* ---- for people ---- */

/* Times in the unit that makes them small numbers. */
static double unit_of(const takt_trend_view *v, const char **name)
{
    double middle = 0;
    *name = v->metric->unit;
    if (strcmp(v->metric->unit, "ms") != 0)
        return 1;
    for (size_t i = 0; i < v->count; i++)
        middle += v->points[i].y / (double)v->count;
    double scale;
    *name = takt_time_unit(middle * 1e6, &scale);
    return scale * 1e6;
}

static bool is_step(const takt_trend_view *v, size_t i, size_t *step)
{
    for (*step = 0; *step < v->step_count; (*step)++)
        if (v->steps[*step] == i)
            return true;
    return false;
}

static void say_steps(takt_text *text, const takt_trend_view *v)
{
    if (v->step_count == 0)
        takt_text_add(text, "no step");
    for (size_t i = 0; i < v->step_count; i++) {
        const double change = takt_trend_change(v, i);
        takt_text_add(text, "%sa step of %+.1f %% (%s) before result %zu, of %s", i > 0 ? "; " : "",
                      100 * change, (change > 0) != v->metric->more_is_better ? "worse" : "better",
                      v->steps[i] + 1, v->points[v->steps[i]].name);
        const char *commit = v->benches[v->steps[i]]->commit;
        if (commit != NULL && commit[0] != '\0')
            takt_text_add(text, ", commit %.12s", commit);
    }
}

static void write_text(takt_text *text, const takt_trend_view *v)
{
    const char *unit;
    const double scale = unit_of(v, &unit);
    size_t step;
    takt_text_add(text, "%s of %s, %s\n", v->metric->title, v->benches[0]->model, v->which);
    for (size_t i = 0; i < v->count; i++) {
        const takt_plot_point *p = &v->points[i];
        const char *commit = v->benches[i]->commit;
        if (is_step(v, i, &step))
            takt_text_add(text, "---- %+.1f %%\n", 100 * takt_trend_change(v, step));
        takt_text_add(text, "%-22s %10.5g %s  (%.5g to %.5g)", p->name, p->y * scale, unit,
                      p->low * scale, p->high * scale);
        takt_text_add(text, "%s%.12s%s\n", commit != NULL && commit[0] != '\0' ? "  " : "",
                      commit != NULL ? commit : "",
                      takt_bench_is_incomplete(v->benches[i]) ? "  INCOMPLETE" : "");
    }
    say_steps(text, v);
    takt_text_add(text, "\n");
}

static void table(takt_text *text, const takt_trend_view *v, double scale, const char *unit)
{
    size_t step;
    takt_text_add(text,
                  "<table><tr><th>result</th><th>commit</th><th>%s</th><th>95&nbsp;%% interval"
                  "</th><th>change</th></tr>\n",
                  unit);
    for (size_t i = 0; i < v->count; i++) {
        const takt_plot_point *p = &v->points[i];
        takt_text_add(text, "<tr%s><td>", is_step(v, i, &step) ? " class=\"best\"" : "");
        takt_html_text(text, p->name);
        takt_text_add(text, "%s</td><td><code>",
                      takt_bench_is_incomplete(v->benches[i])
                          ? " <span class=\"warn\">incomplete</span>"
                          : "");
        takt_html_text(text, v->benches[i]->commit);
        takt_text_add(text, "</code></td><td>%.5g</td><td>%.5g to %.5g</td><td>", p->y * scale,
                      p->low * scale, p->high * scale);
        if (i > 0)
            takt_text_add(text, "%+.1f&nbsp;%%", 100 * (p->y / p[-1].y - 1));
        takt_text_add(text, "</td></tr>\n");
    }
    takt_text_add(text, "</table>\n");
}

static void say_incomplete(takt_text *text, const takt_trend_view *v)
{
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++)
        count += takt_bench_is_incomplete(v->benches[i]);
    if (count > 0)
        takt_text_add(text, "<p class=\"warn\">Incomplete: %zu of %zu results %s broken off.</p>\n",
                      count, v->count, count == 1 ? "was" : "were");
}

static void write_html(takt_text *text, const takt_trend_view *v, const takt_plot *plot,
                       double scale)
{
    takt_html_begin(text, "Trend", "");
    takt_text_add(text, "<h1>%s of ", v->metric->title);
    takt_html_text(text, v->benches[0]->model);
    takt_text_add(text, "</h1>\n<p>");
    takt_html_text(text, v->which);
    takt_text_add(text, "</p>\n<p>%zu results: ", v->count);
    say_steps(text, v);
    takt_text_add(text, "</p>\n");
    say_incomplete(text, v);
    takt_text_add(text, "<div class=\"plots\">\n");
    takt_plot_points(text, plot);
    takt_text_add(text, "</div>\n");
    table(text, v, scale, plot->y_label);
    takt_text_add(text, "</body></html>\n");
}

/* Converts the points to the unit of the plot, in place. */
static takt_status draw(takt_text *text, const takt_trend_view *v, takt_bench_format format)
{
    const char *unit;
    const double scale = unit_of(v, &unit);
    takt_arena arena;
    takt_arena_init(&arena, text->ctx);
    takt_plot_point *points = takt_arena_array(&arena, v->count, sizeof *points);
    takt_plot_step *steps = takt_arena_array(&arena, v->step_count + 1, sizeof *steps);
    const takt_plot plot = {.title = v->metric->title,
                            .x_label = "result, in order of time",
                            .y_label = unit,
                            .joined = true,
                            .dated = true,
                            .points = points,
                            .count = v->count,
                            .steps = steps,
                            .step_count = v->step_count};
    takt_status status = TAKT_ERR_MEMORY;
    if (points != NULL && steps != NULL) {
        for (size_t i = 0; i < v->count; i++) {
            points[i] = v->points[i];
            points[i].y *= scale;
            points[i].low *= scale;
            points[i].high *= scale;
        }
        for (size_t i = 0; i < v->step_count; i++)
            steps[i] = (takt_plot_step){v->steps[i], takt_trend_change(v, i)};
        status = TAKT_OK;
        if (format == TAKT_BENCH_PNG)
            status = takt_plot_png(text, &plot);
        else
            write_html(text, v, &plot, scale);
    }
    takt_arena_deinit(&arena);
    return status;
}

takt_status takt_trend_write(takt_text *text, const takt_trend_view *v, takt_bench_format format)
{
    if (format == TAKT_BENCH_PNG || format == TAKT_BENCH_HTML)
        TAKT_TRY(draw(text, v, format));
    else if (format == TAKT_BENCH_JSON)
        write_json(text, v);
    else
        write_text(text, v);
    return text->status;
}
