/* draw.c - the arena over the steps of a plan, as an SVG picture.
 *
 * Steps go from left to right, bytes from bottom to top. Every value is a box from the step that
 * makes it to the last that reads it; scratch is grey. A box is labelled if there is room, and has
 * a tooltip in any case.
 */
#include <takt/plan.h>

#include <string.h>

#include "measure/report/report.h"
#include "measure/report/svg.h"
#include "plan/finish.h"

enum { LEFT = 90, TOP = 40, HEIGHT = 420, WIDE = 900 };

typedef struct canvas {
    takt_text *text;
    const takt_plan *plan;
    double step, byte; /* pixels of one */
} canvas;

/* The text in a box, if it fits: the name, and the bytes below it. */
static void label(const canvas *c, const takt_buffer *b, const char *name, const double at[4])
{
    enum { LETTER = 7, LINE = 14 };
    char figure[TAKT_FIGURE_TEXT];
    const size_t letters = (size_t)((at[2] - 6) / LETTER);
    if (at[2] < 6 + 4 * LETTER || at[3] < LINE + 2)
        return;
    takt_text_add(c->text, "<text font-size=\"11\" pointer-events=\"none\"");
    takt_svg_attribute(c->text, "x", at[0] + 4);
    takt_svg_attribute(c->text, "y", at[1] + LINE - 2);
    takt_text_add(c->text, ">");
    takt_svg_name(c->text, name, letters);
    takt_figure(b->bytes, figure);
    if (at[3] >= 2 * LINE + 2 && strlen(figure) <= letters) {
        takt_text_add(c->text, "<tspan dy=\"%d\"", LINE);
        takt_svg_attribute(c->text, "x", at[0] + 4);
        takt_text_add(c->text, ">%s</tspan>", figure);
    }
    takt_text_add(c->text, "</text>\n");
}

static void box(const canvas *c, const takt_buffer *b, const char *name, const char *colour)
{
    const int first = b->first < 0 ? 0 : b->first;
    const int last = b->last < first                       ? first
                     : b->last >= (int)c->plan->step_count ? (int)c->plan->step_count - 1
                                                           : b->last;
    const double height = (double)b->bytes * c->byte;
    const double at[4] = {LEFT + first * c->step,
                          TOP + HEIGHT - (double)b->offset * c->byte - height,
                          (last - first + 1) * c->step, height};
    takt_text_add(c->text, "<rect");
    takt_svg_attribute(c->text, "x", at[0]);
    takt_svg_attribute(c->text, "y", at[1]);
    takt_svg_attribute(c->text, "width", at[2]);
    takt_svg_attribute(c->text, "height", at[3]);
    takt_text_add(c->text, " fill=\"%s\" stroke=\"#333\" stroke-width=\"0.5\"><title>", colour);
    takt_svg_text(c->text, name);
    takt_text_add(c->text, ": %zu bytes at %zu, steps %d to %d</title></rect>\n", b->bytes,
                  b->offset, first, last);
    label(c, b, name, at);
}

static void boxes(const canvas *c)
{
    static const char *const colours[] = {"#8ecae6", "#a8dadc", "#bde0fe", "#cdb4db",
                                          "#b7e4c7", "#ffd6a5", "#fdffb6", "#ffc8dd"};
    const takt_plan *plan = c->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place != TAKT_PLACE_ARENA || b->space != TAKT_HOST || b->bytes == 0)
            continue;
        const char *name =
            b->value != TAKT_NONE ? takt_node_label(&plan->graph->nodes[b->value]) : "scratch";
        box(c, b, name, colours[i % (sizeof colours / sizeof *colours)]);
    }
    for (size_t i = 0; i < plan->step_count; i++) {
        const takt_step *s = &plan->steps[i];
        const size_t bytes = takt_step_scratch(s, plan->threads);
        const takt_buffer scratch = {
            .bytes = bytes, .offset = s->scratch_offset, .first = (int)i, .last = (int)i};
        if (bytes > 0)
            box(c, &scratch, "scratch", "#bbbbbb");
    }
}

static void axes(const canvas *c)
{
    char figure[TAKT_FIGURE_TEXT];
    const takt_plan *plan = c->plan;
    takt_text_add(c->text, "<text x=\"%d\" y=\"22\" font-size=\"15\">", LEFT);
    takt_svg_text(c->text, plan->graph->name);
    takt_text_add(c->text, ": arena of %s bytes over %zu step%s; lower bound ",
                  takt_figure(plan->arena_bytes, figure), plan->step_count,
                  plan->step_count == 1 ? "" : "s");
    takt_text_add(c->text, "%s</text>\n", takt_figure(plan->lower_bound, figure));
    takt_text_add(c->text, "<line x1=\"%d\" x2=\"%d\" stroke=\"#c00\" stroke-dasharray=\"4 3\"",
                  LEFT, LEFT + WIDE);
    takt_svg_attribute(c->text, "y1", TOP + HEIGHT - (double)plan->lower_bound * c->byte);
    takt_svg_attribute(c->text, "y2", TOP + HEIGHT - (double)plan->lower_bound * c->byte);
    takt_text_add(c->text, "><title>lower bound</title></line>\n");
    for (int quarter = 0; quarter <= 4; quarter++)
        takt_text_add(c->text,
                      "<text x=\"%d\" y=\"%d\" font-size=\"11\" text-anchor=\"end\">%s</text>\n",
                      LEFT - 6, TOP + HEIGHT - HEIGHT * quarter / 4 + 4,
                      takt_figure(plan->arena_bytes / 4 * (size_t)quarter, figure));
}

static void step_names(const canvas *c)
{
    for (size_t i = 0; i < c->plan->step_count; i++) {
        takt_text_add(c->text,
                      "<rect fill=\"none\" stroke=\"#ddd\" stroke-width=\"0.3\" y=\"%d\" "
                      "height=\"%d\"",
                      TOP, HEIGHT);
        takt_svg_attribute(c->text, "x", LEFT + (double)i * c->step);
        takt_svg_attribute(c->text, "width", c->step);
        takt_text_add(c->text, " pointer-events=\"all\"><title>step %zu: ", i);
        takt_svg_text(c->text, c->plan->steps[i].name);
        takt_text_add(c->text, "</title></rect>\n");
    }
}

/* As many step numbers below the picture as there is room for. */
static void step_numbers(const canvas *c)
{
    const size_t each = (size_t)(30 / c->step) + 1;
    for (size_t i = 0; i < c->plan->step_count; i += each) {
        takt_text_add(c->text, "<text y=\"%d\" font-size=\"11\" text-anchor=\"middle\"",
                      TOP + HEIGHT + 16);
        takt_svg_attribute(c->text, "x", LEFT + ((double)i + 0.5) * c->step);
        takt_text_add(c->text, ">%zu</text>\n", i);
    }
    takt_text_add(c->text,
                  "<text x=\"%d\" y=\"%d\" font-size=\"11\" text-anchor=\"end\">step</text>\n"
                  "<text x=\"%d\" y=\"22\" font-size=\"11\" text-anchor=\"end\">bytes</text>\n",
                  LEFT + WIDE, TOP + HEIGHT + 32, LEFT - 6);
}

takt_status takt_plan_draw(const takt_plan *plan, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, plan);
    TAKT_NEED(NULL, sink);
    takt_text text;
    takt_text_init(&text, plan->ctx);
    const size_t bytes = plan->arena_bytes > 0 ? plan->arena_bytes : 1;
    const size_t steps = plan->step_count > 0 ? plan->step_count : 1;
    const canvas c = {.text = &text,
                      .plan = plan,
                      .step = (double)WIDE / (double)steps,
                      .byte = (double)HEIGHT / (double)bytes};
    const int width = LEFT + WIDE + 30, height = TOP + HEIGHT + 40;
    takt_text_add(&text,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                  "height=\"%d\" style=\"max-width:100%%;height:auto\" "
                  "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" "
                  "fill=\"white\"/>\n",
                  width, height, width, height);
    step_names(&c);
    boxes(&c);
    axes(&c);
    step_numbers(&c);
    takt_text_add(&text, "</svg>\n");
    return takt_sink_text(plan->ctx, &text, sink, user);
}
