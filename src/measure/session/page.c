/* page.c - a profile as one page: steps, roofline, memory over the steps, suggestions. */
#include <math.h>
#include <stdio.h>

#include "measure/plot_axis.h"
#include "measure/session/measure.h"
#include "os/cpu.h"
#include "plan/finish.h"

enum { WIDTH = TAKT_PLOT_WIDTH, HEIGHT = TAKT_PLOT_HEIGHT, LEFT = TAKT_PLOT_LEFT };
enum { COLOURS = 6, FIGURE = TAKT_FIGURE_TEXT };

/* ---- memory ---- */

typedef struct map {
    takt_text *text;
    takt_axis x, y;
    double scale; /* bytes into the unit of the axis */
} map;

static void box(const map *m, const takt_buffer *b, const char *class, const char *name)
{
    const double left = takt_axis_place(&m->x, fmax(0, b->first));
    const double right = takt_axis_place(&m->x, fmin(fmax(b->last, b->first) + 1, m->x.high));
    const double top = takt_axis_place(&m->y, (double)(b->offset + b->bytes) * m->scale);
    const double bottom = takt_axis_place(&m->y, (double)b->offset * m->scale);
    takt_text_add(m->text,
                  "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
                  class, left, top, fmax(right - left, 0.5), fmax(bottom - top, 0.5));
    takt_html_text(m->text, name);
    takt_text_add(m->text, ": %zu bytes at %zu</title></rect>\n", b->bytes, b->offset);
}

static void boxes(const map *m, const takt_plan *plan)
{
    char class[8];
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place != TAKT_PLACE_ARENA || b->space != TAKT_HOST || b->bytes == 0)
            continue;
        snprintf(class, sizeof class, "k%zu", i % COLOURS);
        box(m, b, class,
            b->value != TAKT_NONE ? takt_node_label(&plan->graph->nodes[b->value]) : "scratch");
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_buffer scratch = {.bytes = takt_step_scratch(&plan->steps[i], plan->threads),
                                     .offset = plan->steps[i].scratch_offset,
                                     .first = (int)i,
                                     .last = (int)i};
        if (scratch.bytes > 0)
            box(m, &scratch, "b", "scratch");
    }
}

/* The arena over the steps: every value from the step that makes it to the last that reads it. */
static void memory(takt_text *text, const takt_plan *plan)
{
    const double most = (double)plan->arena_bytes;
    const bool is_large = most >= 1e6;
    map m = {.text = text,
             .x = takt_x_axis(0, fmax(1, (double)plan->step_count), false),
             .y = takt_y_axis(0, 1, false),
             .scale = is_large ? 1e-6 : 1e-3};
    if (plan->arena_bytes == 0)
        return;
    m.y = takt_y_axis(0, most * m.scale, false);
    takt_plot_begin(text, "Memory over the steps, value by value", "step", is_large ? "MB" : "kB");
    takt_axis_ticks(text, &m.x, true);
    takt_axis_ticks(text, &m.y, false);
    boxes(&m, plan);
    takt_text_add(text, "</svg>\n");
}

/* ---- steps ---- */

static void roofline(takt_text *text, const takt_profile *p)
{
    takt_arena arena;
    size_t count = 0;
    takt_arena_init(&arena, p->ctx);
    takt_plot_point *points = takt_arena_array(&arena, p->plan->step_count, sizeof *points);
    for (size_t i = 0; points != NULL && i < p->plan->step_count; i++) {
        const takt_profile_row *row = &p->rows[i];
        if (row->roof.away == NULL && row->roof.flops > 0 && row->roof.bytes > 0 &&
            row->median_ns > 0) /* the lines are the host's */
            points[count++] = (takt_plot_point){.x = row->roof.flops / row->roof.bytes,
                                                .y = row->roof.flops / row->median_ns,
                                                .weight = row->share,
                                                .name = row->step->name};
    }
    const takt_ceiling *c = p->plan->threads == 1 ? &p->ceilings.one : &p->ceilings.all;
    if (p->has_ceilings)
        takt_plot_roofline(text, c, points, count);
    takt_arena_deinit(&arena);
}

static void steps(takt_text *text, const takt_profile *p)
{
    char a[FIGURE];
    takt_text_add(text, "<div class=\"wide\"><table><tr><th>step</th><th>kernel</th><th>time</th>"
                        "<th>share</th><th></th><th>bound</th><th>of ceiling</th></tr>\n");
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_profile_row *row = &p->rows[i];
        takt_text_add(text, "<tr><td>");
        takt_html_text(text, row->step->name);
        takt_text_add(text, "</td><td>");
        takt_html_text(text, row->step->kernel);
        takt_text_add(text,
                      "</td><td>%s</td><td>%.1f&nbsp;%%</td><td class=\"bar\">"
                      "<i style=\"width:%.1f%%\"></i></td><td>",
                      takt_figure_time(row->median_ns, a), 100 * row->share,
                      fmin(100, fmax(0, 100 * row->share)));
        takt_html_text(text, row->bound);
        takt_text_add(text, "</td><td>");
        if (row->bound != NULL && row->percent > 0)
            takt_text_add(text, "%.0f&nbsp;%%", row->percent);
        takt_text_add(text, "</td></tr>\n");
    }
    takt_text_add(text, "</table></div>\n");
}

/* ---- the page ---- */

static void card(takt_text *text, const char *what, const char *figure, const char *more)
{
    takt_text_add(text, "<div class=\"card\"><span>%s</span><b>%s</b><span>%s</span></div>\n", what,
                  figure, more);
}

static void cards(takt_text *text, const takt_profile *p)
{
    char a[FIGURE], b[FIGURE], c[2 * FIGURE + 24];
    const takt_stats *s = &p->timing.stats;
    double floor_ns = 0, flops = 0;
    for (size_t i = 0; i < p->plan->step_count; i++) {
        floor_ns += p->rows[i].roof.floor_ns;
        flops += p->rows[i].roof.flops;
    }
    takt_text_add(text, "<div class=\"cards\">\n");
    snprintf(c, sizeof c, "95 %% %s to %s", takt_figure_time(s->median_ci.low, a),
             takt_figure_time(s->median_ci.high, b));
    card(text, "a run", takt_figure_time(s->median, a), c);
    if (p->has_ceilings && floor_ns > 0 && s->median > 0) {
        snprintf(b, sizeof b, "%.0f %%", 100 * floor_ns / s->median);
        snprintf(c, sizeof c, "minimum %s", takt_figure_time(floor_ns, a));
        card(text, "of the roofline", b, c);
    }
    card(text, "arithmetic", takt_figure_scaled(flops / fmax(1, s->median) * 1e9, "FLOP/s", a),
         takt_figure_scaled(flops, "FLOP a run", b));
    snprintf(c, sizeof c, "%.3g allocations a run", p->rest.allocations);
    card(text, "arena", takt_figure_bytes(p->plan->arena_bytes, a), c);
    snprintf(b, sizeof b, "%zu", p->plan->step_count);
    snprintf(c, sizeof c, "on %d thread%s", p->plan->threads, p->plan->threads == 1 ? "" : "s");
    card(text, "steps", b, c);
    takt_text_add(text, "</div>\n");
}

static int to_page(void *user, const char *bytes, size_t length)
{
    takt_text *text = user;
    (void)length;
    takt_html_text(text, bytes); /* a text ends with a zero */
    return text->status == TAKT_OK ? 0 : 1;
}

static takt_status advice(takt_text *text, const takt_profile *p)
{
    takt_report r;
    takt_text_add(text, "<h2>What to do</h2>\n<pre>");
    takt_report_begin(&r, p->ctx, TAKT_FORMAT_TEXT);
    takt_profile_advice(p, &r);
    const takt_status status = takt_report_end(&r, TAKT_OK, to_page, text);
    takt_text_add(text, "</pre>\n");
    return status;
}

/* What was measured, how, where and when: a page may be read long after the run. */
static void head(takt_text *text, const takt_profile *p)
{
    takt_run_config c;
    takt_cpu_facts facts;
    takt_plan_config(p->plan, &c);
    takt_cpu_read(&facts);
    takt_html_begin(text, "Profile of ", p->model);
    takt_text_add(text, "<h1>Profile of ");
    takt_html_text(text, p->model);
    takt_text_add(text, "</h1>\n<p>");
    takt_html_text(text, p->inputs);
    takt_text_add(text, "%sbackend %s &middot; weights in %s &middot; numerics %s</p>\n<p>",
                  p->inputs[0] != '\0' ? " &middot; " : "", c.backend, c.precision, c.numerics);
    takt_html_text(text, facts.model);
    if (p->timestamp != NULL) {
        takt_text_add(text, " &middot; ");
        takt_html_text(text, p->timestamp);
    }
    takt_text_add(text, "</p>\n");
}

takt_status takt_profile_page(const takt_profile *p, takt_sink_fn *sink, void *user)
{
    takt_text text;
    takt_text_init(&text, p->ctx);
    head(&text, p);
    cards(&text, p);
    takt_text_add(&text, "<div class=\"plots\">\n");
    roofline(&text, p);
    memory(&text, p->plan);
    if (p->timing.count > 0) {
        takt_plot_distribution(&text, &p->timing);
        takt_plot_series(&text, &p->timing);
    }
    takt_text_add(&text, "</div>\n");
    steps(&text, p);
    const takt_status status = advice(&text, p);
    takt_text_add(&text, "</body></html>\n");
    if (status != TAKT_OK)
        text.status = status;
    return takt_sink_text(p->ctx, &text, sink, user);
}
