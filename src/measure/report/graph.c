/* graph.c - the steps of a plan and the data flow between them, as an SVG picture.
 *
 * Inputs are at the top, outputs at the bottom. A box is a step, with its operation and the type of
 * its result; its kernel, work and bytes appear on hover.
 */
#include <takt/plan.h>

#include <stdio.h>
#include <string.h>

#include "measure/report/layering.h"
#include "measure/report/report.h"
#include "measure/report/svg.h"
#include "plan/finish.h"

enum { ROW = 74, BOX = 44, MARGIN = 24, HEAD = 40, LETTER = 7, LEAST_WIDTH = 96, GAP = 18 };
enum { MOST_LETTERS = 34, TYPE_TEXT = 160 };

typedef enum box_kind { BOX_INPUT, BOX_STATE, BOX_STEP, BOX_OUTPUT } box_kind;

typedef struct box {
    box_kind kind;
    uint32_t index; /* of the input, slot, step or output */
    const char *title;
    char type[TYPE_TEXT];
} box;

/* A step that wrote part of a buffer. */
typedef struct writer {
    uint32_t box;
    size_t first, end; /* bytes */
    bool is_dense;
    const struct writer *before;
} writer;

typedef struct picture {
    const takt_plan *plan;
    takt_arena arena;
    box *boxes;
    takt_layering layout;
    size_t edge_capacity;
    const writer **writers; /* per buffer, the newest first */
    takt_text text;
} picture;

/* ---- what there is ---- */

static void view_type(const takt_view *v, char to[static TYPE_TEXT])
{
    size_t at = (size_t)snprintf(to, TYPE_TEXT, "%s[", takt_dtype_name(v->dtype));
    for (int d = 0; d < v->rank && at < TYPE_TEXT - 24; d++)
        at += (size_t)snprintf(to + at, TYPE_TEXT - at, "%s%lld", d > 0 ? ", " : "",
                               (long long)v->dim[d]);
    snprintf(to + at, TYPE_TEXT - at, "]");
}

/* Bytes of the buffer between the first and the last element. */
static void extent(const takt_view *v, size_t *first, size_t *end, bool *is_dense)
{
    size_t last = 0, count = 1;
    const int bits = takt_dtype_bits(v->dtype);
    const size_t size = bits < 8 ? 1 : (size_t)bits / 8;
    for (int d = 0; d < v->rank; d++) {
        const int64_t steps = v->dim[d] > 0 ? v->dim[d] - 1 : 0;
        last += (size_t)(steps * (v->stride[d] > 0 ? v->stride[d] : -v->stride[d]));
        count *= (size_t)v->dim[d];
    }
    *first = v->offset;
    *end = v->offset + (last + 1) * size;
    *is_dense = count == last + 1;
}

static double width_of(const box *b)
{
    const size_t title = strlen(b->title), type = strlen(b->type);
    size_t letters = title > type ? title : type;
    letters = letters > MOST_LETTERS ? MOST_LETTERS : letters;
    const double width = (double)letters * LETTER + 16;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width;
}

static box *add_box(picture *p, box_kind kind, size_t index, const char *title)
{
    box *b = &p->boxes[p->layout.box_count++];
    *b = (box){.kind = kind, .index = (uint32_t)index, .title = title};
    return b;
}

static bool add_edge(picture *p, uint32_t from, uint32_t to)
{
    takt_layering *l = &p->layout;
    for (size_t e = l->edge_count; e-- > 0 && l->edges[e].to == to;)
        if (l->edges[e].from == from)
            return true; /* a square reads its input twice */
    if (l->edge_count == p->edge_capacity) {
        const size_t room = p->edge_capacity > 0 ? 2 * p->edge_capacity : 64;
        takt_place_edge *edges = takt_arena_array(&p->arena, room, sizeof *edges);
        if (edges == NULL)
            return false;
        if (l->edge_count > 0)
            memcpy(edges, l->edges, l->edge_count * sizeof *edges);
        l->edges = edges;
        p->edge_capacity = room;
    }
    l->edges[l->edge_count++] = (takt_place_edge){.from = from, .to = to};
    return true;
}

static bool writes(picture *p, uint32_t at, const takt_view *v)
{
    writer *w = takt_arena_array(&p->arena, 1, sizeof *w);
    if (w == NULL)
        return false;
    w->box = at;
    extent(v, &w->first, &w->end, &w->is_dense);
    w->before = p->writers[v->buffer];
    p->writers[v->buffer] = w;
    return true;
}

/* Edges from every value whose bytes still exist. */
static bool reads(picture *p, uint32_t at, uint32_t buffer, size_t first, size_t end)
{
    for (const writer *w = p->writers[buffer]; w != NULL; w = w->before) {
        if (w->end <= first || w->first >= end || w->box == at)
            continue;
        if (!add_edge(p, w->box, at))
            return false;
        if (w->is_dense && w->first <= first && w->end >= end)
            return true;
    }
    return true;
}

static bool is_read(const takt_plan *plan, size_t buffer)
{
    for (size_t i = 0; i < plan->step_count; i++)
        for (size_t k = 0; k < plan->steps[i].in_count; k++)
            if (plan->steps[i].in[k].buffer == buffer)
                return true;
    return false;
}

/* Values that the caller or an earlier run has put into memory. */
static bool add_sources(picture *p)
{
    const takt_plan *plan = p->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        const bool is_input = b->place == TAKT_PLACE_INPUT;
        if (!is_input && (b->place != TAKT_PLACE_STATE || !plan->slots[b->index].is_changed ||
                          !is_read(plan, i)))
            continue;
        const char *name =
            is_input ? plan->graph->inputs[b->index].name : plan->graph->slots[b->index].name;
        const uint32_t at = (uint32_t)p->layout.box_count;
        box *source = add_box(p, is_input ? BOX_INPUT : BOX_STATE, b->index, name);
        const takt_type *type =
            is_input && b->value != TAKT_NONE ? plan->graph->nodes[b->value].type : NULL;
        if (type != NULL)
            takt_type_text(plan->graph->dims, type, source->type);
        writer *w = takt_arena_array(&p->arena, 1, sizeof *w);
        if (w == NULL)
            return false;
        *w = (writer){.box = at, .end = SIZE_MAX, .is_dense = true};
        p->writers[i] = w;
    }
    return true;
}

static bool add_steps(picture *p)
{
    for (size_t i = 0; i < p->plan->step_count; i++) {
        const takt_step *s = &p->plan->steps[i];
        const uint32_t at = (uint32_t)p->layout.box_count;
        box *b = add_box(p, BOX_STEP, i, s->name);
        if (s->out_count > 0)
            view_type(&s->out[0], b->type);
        for (size_t k = 0; k < s->in_count; k++) {
            size_t first, end;
            bool is_dense;
            extent(&s->in[k], &first, &end, &is_dense);
            if (!reads(p, at, s->in[k].buffer, first, end))
                return false;
        }
        for (size_t k = 0; k < s->out_count; k++)
            if (!writes(p, at, &s->out[k]))
                return false;
    }
    return true;
}

static bool add_outputs(picture *p)
{
    const takt_plan *plan = p->plan;
    for (size_t i = 0; i < plan->buffer_count; i++) {
        const takt_buffer *b = &plan->buffers[i];
        if (b->place != TAKT_PLACE_OUTPUT || b->is_guest)
            continue;
        const uint32_t at = (uint32_t)p->layout.box_count;
        add_box(p, BOX_OUTPUT, b->index, plan->graph->outputs[b->index].name);
        if (!reads(p, at, (uint32_t)i, 0, b->bytes))
            return false;
    }
    return true;
}

/* A row below all that a box reads; sources are a row above their first reader. */
static void choose_rows(picture *p)
{
    takt_layering *l = &p->layout;
    for (size_t e = 0; e < l->edge_count; e++) { /* sorted by `to`, which follows its inputs */
        const int row = l->boxes[l->edges[e].from].row + 1;
        if (l->boxes[l->edges[e].to].row < row)
            l->boxes[l->edges[e].to].row = row;
    }
    for (size_t i = 0; i < l->box_count && p->boxes[i].kind <= BOX_STATE; i++) {
        int least = -1;
        for (size_t e = 0; e < l->edge_count; e++)
            if (l->edges[e].from == i && (least < 0 || l->boxes[l->edges[e].to].row < least))
                least = l->boxes[l->edges[e].to].row;
        l->boxes[i].row = least > 0 ? least - 1 : 0;
    }
}

static bool collect(picture *p)
{
    const takt_plan *plan = p->plan;
    const size_t most = plan->buffer_count * 2 + plan->step_count;
    p->boxes = takt_arena_array(&p->arena, most + 1, sizeof *p->boxes);
    p->writers = takt_arena_array(&p->arena, plan->buffer_count + 1, sizeof *p->writers);
    if (p->boxes == NULL || p->writers == NULL || !add_sources(p) || !add_steps(p) ||
        !add_outputs(p))
        return false;
    p->layout.boxes = takt_arena_array(&p->arena, p->layout.box_count + 1, sizeof *p->layout.boxes);
    if (p->layout.boxes == NULL)
        return false;
    for (size_t i = 0; i < p->layout.box_count; i++)
        p->layout.boxes[i].width = width_of(&p->boxes[i]);
    choose_rows(p);
    return takt_layering_place(&p->layout, &p->arena, GAP);
}

/* ---- how it looks ---- */

static double top_of(const takt_place_box *b)
{
    return HEAD + (double)b->row * ROW;
}

static void point(takt_text *t, const char *before, double x, double y)
{
    const long long a = (long long)(x * 10 + 0.5), b = (long long)(y * 10 + 0.5);
    takt_text_add(t, "%s%lld.%lld %lld.%lld", before, a / 10, a % 10, b / 10, b % 10);
}

/* A smooth piece from one row to the next: upright at both ends. */
static void curve(takt_text *t, double x0, double y0, double x1, double y1)
{
    point(t, " C", x0, (y0 + y1) / 2);
    point(t, ", ", x1, (y0 + y1) / 2);
    point(t, ", ", x1, y1);
}

static void draw_edge(picture *p, const takt_place_edge *e)
{
    const takt_place_box *from = &p->layout.boxes[e->from], *to = &p->layout.boxes[e->to];
    double x = MARGIN + from->x, y = top_of(from) + BOX;
    takt_text_add(&p->text, "<path fill=\"none\" stroke=\"#667\" marker-end=\"url(#a)\" d=\"");
    point(&p->text, "M", x, y);
    for (uint32_t k = 0; k < e->bend_count; k++) {
        const double next = MARGIN + p->layout.bends[e->first + k];
        const double top = HEAD + (double)(from->row + 1 + (int)k) * ROW;
        curve(&p->text, x, y, next, top);
        point(&p->text, " L", next, top + BOX);
        x = next;
        y = top + BOX;
    }
    curve(&p->text, x, y, MARGIN + to->x, top_of(to) - 4);
    takt_text_add(&p->text, "\"/>\n");
}

static const char *colour_of(const picture *p, const box *b)
{
    static const char *const works[] = {[TAKT_WORK_OTHER] = "#e7d8f5",
                                        [TAKT_WORK_MAP] = "#d3efd9",
                                        [TAKT_WORK_PRODUCT] = "#cfe3f7",
                                        [TAKT_WORK_MOVE] = "#e6e6e6"};
    switch (b->kind) {
    case BOX_STEP: return works[p->plan->steps[b->index].facts.work];
    case BOX_STATE: return "#fdeccb";
    default: return "#ffffff";
    }
}

static void line(takt_text *t, double x, double y, const char *style, const char *words)
{
    takt_text_add(t, "<text text-anchor=\"middle\" pointer-events=\"none\" %s", style);
    takt_svg_attribute(t, "x", x);
    takt_svg_attribute(t, "y", y);
    takt_text_add(t, ">");
    takt_svg_name(t, words, MOST_LETTERS);
    takt_text_add(t, "</text>\n");
}

static void tooltip(picture *p, const box *b)
{
    char figure[TAKT_FIGURE_TEXT];
    takt_svg_text(&p->text, b->title);
    if (b->kind != BOX_STEP) {
        static const char *const kinds[] = {"input", "state", "", "output"};
        takt_text_add(&p->text, ": %s", kinds[b->kind]);
        return;
    }
    const takt_step *s = &p->plan->steps[b->index];
    takt_text_add(&p->text, "\nstep %u: ", (unsigned)b->index);
    takt_svg_text(&p->text, s->kernel);
    takt_text_add(&p->text, "\n%s operations",
                  takt_figure(takt_whole(takt_step_cost(p->plan, s).flops), figure));
    for (size_t k = 0; k < s->out_count; k++) {
        char type[TYPE_TEXT];
        view_type(&s->out[k], type);
        takt_text_add(&p->text, "\nresult %s", type);
    }
}

static void draw_box(picture *p, size_t i)
{
    const box *b = &p->boxes[i];
    const takt_place_box *at = &p->layout.boxes[i];
    const double x = MARGIN + at->x, y = top_of(at);
    takt_text_add(&p->text, "<rect height=\"%d\" rx=\"%d\" fill=\"%s\" stroke=\"#445\"", BOX,
                  b->kind == BOX_STEP ? 5 : BOX / 2, colour_of(p, b));
    takt_svg_attribute(&p->text, "x", x - at->width / 2);
    takt_svg_attribute(&p->text, "y", y);
    takt_svg_attribute(&p->text, "width", at->width);
    takt_text_add(&p->text, "><title>");
    tooltip(p, b);
    takt_text_add(&p->text, "</title></rect>\n");
    const bool has_type = b->type[0] != '\0';
    line(&p->text, x, y + (has_type ? 19 : 27), "font-size=\"12\"", b->title);
    if (has_type)
        line(&p->text, x, y + 34, "font-size=\"10\" fill=\"#556\"", b->type);
}

static void draw(picture *p)
{
    takt_text *t = &p->text;
    const long long width = (long long)(p->layout.width + 2 * MARGIN + 1);
    const int height = HEAD + p->layout.rows * ROW - (ROW - BOX) + MARGIN;
    takt_text_add(t,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %lld %d\" "
                  "width=\"%lld\" height=\"%d\" font-family=\"sans-serif\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" "
                  "refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\">"
                  "<path d=\"M0 0 L8 4 L0 8 z\" fill=\"#667\"/></marker></defs>\n",
                  width, height, width, height);
    takt_text_add(t, "<text x=\"%d\" y=\"22\" font-size=\"14\">", MARGIN);
    takt_svg_text(t, p->plan->graph->name);
    takt_text_add(t, ": %zu step%s</text>\n", p->plan->step_count,
                  p->plan->step_count == 1 ? "" : "s");
    for (size_t e = 0; e < p->layout.edge_count; e++)
        draw_edge(p, &p->layout.edges[e]);
    for (size_t i = 0; i < p->layout.box_count; i++)
        draw_box(p, i);
    takt_text_add(t, "</svg>\n");
}

takt_status takt_plan_draw_graph(const takt_plan *plan, takt_sink_fn *sink, void *user)
{
    TAKT_NEED(NULL, plan);
    TAKT_NEED(NULL, sink);
    picture p = {.plan = plan};
    takt_arena_init(&p.arena, plan->ctx);
    takt_text_init(&p.text, plan->ctx);
    const bool good = collect(&p);
    if (good)
        draw(&p);
    const takt_status status =
        good ? takt_sink_text(plan->ctx, &p.text, sink, user) : TAKT_ERR_MEMORY;
    if (!good)
        takt_text_deinit(&p.text);
    takt_arena_deinit(&p.arena);
    return status;
}
