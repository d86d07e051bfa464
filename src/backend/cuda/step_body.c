/* step_body.c - If, Loop and Scan whose bodies have plans on the device (body.c runs them). */
#include "backend/cuda/body.h"
#include "backend/cuda/step.h"
#include "base/ctx.h"
#include "base/size.h"
#include "op/ops.h"
#include "plan/repeat.h"

static bool is_control(const takt_op *op)
{
    return op == &takt_op_if || op == &takt_op_loop || op == &takt_op_scan;
}

/* ---- which ---- */

/* Why a subgraph cannot have a plan here; NULL: it can. */
static const char *refuse_body(const takt_graph *g)
{
    if (takt_repeat_finds(g))
        return "values decide sizes in the body";
    for (size_t i = 0; i < g->input_count + g->output_count; i++) {
        const takt_id id = i < g->input_count ? g->inputs[i].id : g->outputs[i - g->input_count].id;
        size_t bytes;
        if (takt_dtype_bits(takt_type_of(g, id)->dtype) < 8 ||
            !takt_type_bytes(takt_type_of(g, id), &bytes) || bytes == 0)
            return "elements below a byte, or none, go into or out of the body";
    }
    return NULL;
}

/* Whether the body computes anything there. */
static bool has_work(const takt_graph *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (takt_cuda_supports(g, (takt_id)i) == NULL)
            return true;
    return false;
}

enum { ROWS = 64 }; /* copies of one value, at most */

static int axis_of(const takt_node *n, const char *name, size_t i, int rank)
{
    const takt_attr *list = takt_node_attr(n, name);
    const int64_t axis = i < list->count ? list->i64s[i] : 0;
    return (int)(axis < 0 ? axis + rank : axis);
}

/* A value of an iteration has few runs of bytes. */
static bool has_few_rows(const takt_graph *g, const takt_node *n)
{
    const size_t carried = (size_t)takt_node_int(n, "carried"),
                 sequences = (size_t)takt_node_int(n, "sequences");
    for (size_t i = carried; i < carried + sequences + n->out_count - carried; i++) {
        const bool is_in = i < carried + sequences;
        const size_t k = is_in ? i - carried : i - carried - sequences;
        const takt_type *t = is_in ? takt_type_of(g, n->in[i]) : &n->type[carried + k];
        const int axis = axis_of(n, is_in ? "axes" : "out_axes", k, t->rank);
        int64_t rows = 1;
        for (int d = 0; d < axis; d++)
            rows *= t->dim[d];
        if (rows > ROWS)
            return false;
    }
    return true;
}

static const char *accepts(const takt_graph *g, takt_id node)
{
    const takt_node *n = &g->nodes[node];
    bool works = false;
    if (!is_control(n->op))
        return "";
    for (uint32_t k = 0; k < takt_op_attr_count(n->op); k++) {
        if (!n->attr[k].is_set || n->op->attrs[k].type != TAKT_ATTR_GRAPH)
            continue;
        const char *why = refuse_body(n->attr[k].graph);
        if (why != NULL)
            return why;
        works |= has_work(n->attr[k].graph);
    }
    if (!works)
        return "no operation of the body has device code";
    if (n->op == &takt_op_scan && !has_few_rows(g, n))
        return "a scan along a later axis: its values are many runs of bytes";
    return NULL;
}

/* ---- memory ---- */

/* Room in the step's scratch. */
static size_t room(takt_planner *p, size_t bytes)
{
    const size_t align = takt_cuda_memory.alignment;
    const size_t at = takt_round_up(p->step->scratch_bytes, align);
    p->step->scratch_bytes = at + bytes;
    return at;
}

static takt_status add_child(takt_planner *p, const takt_graph *g, takt_cuda_body *b)
{
    takt_plan *child;
    TAKT_TRY(takt_planner_child_away(p, g, &child));
    size_t bytes = 0;
    for (size_t i = 1; i < child->space_count; i++)
        bytes += child->space[i].arena;
    b->arena_at[b->plan_count] = room(p, bytes);
    b->plans[b->plan_count++] = child;
    return TAKT_OK;
}

static size_t bytes_of(const takt_graph *g, takt_id id)
{
    size_t bytes = 0;
    (void)takt_type_bytes(takt_type_of(g, id), &bytes);
    return bytes;
}

/* Values of one iteration, for those ports that change from iteration to iteration. */
static takt_status add_ports(takt_planner *p, const takt_graph *g, takt_cuda_body *b)
{
    const size_t count = g->input_count + g->output_count;
    const size_t own = b->control == TAKT_CUDA_LOOP ? 2 : 0; /* number and condition */
    const size_t last = own + b->carried + b->sequences;
    b->bytes = takt_planner_get(p, count * sizeof *b->bytes);
    b->at = takt_planner_get(p, count * sizeof *b->at);
    if (b->bytes == NULL || b->at == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        const bool is_in = i < g->input_count;
        const bool is_held =
            is_in ? i < own || i >= last : b->control == TAKT_CUDA_LOOP && i == g->input_count;
        b->bytes[i] = bytes_of(g, is_in ? g->inputs[i].id : g->outputs[i - g->input_count].id);
        b->at[i] = is_held ? SIZE_MAX : room(p, b->bytes[i]);
    }
    return TAKT_OK;
}

/* ---- compile ---- */

static takt_status add_views(takt_planner *p, const takt_node *n)
{
    TAKT_TRY(takt_planner_inputs(p, n));
    return takt_planner_outputs(p, p->group->nodes[0]);
}

static takt_status add_branches(takt_planner *p, const takt_node *n, takt_cuda_body *b)
{
    TAKT_TRY(add_child(p, takt_node_attr(n, "then")->graph, b));
    const size_t first = p->step->scratch_bytes;
    p->step->scratch_bytes = 0; /* only one of them runs */
    TAKT_TRY(add_child(p, takt_node_attr(n, "else")->graph, b));
    if (p->step->scratch_bytes < first)
        p->step->scratch_bytes = first;
    return TAKT_OK;
}

/* The layout in `v` of an iteration's value of `bytes` bytes. */
static takt_cuda_lane lane_of(const takt_view *v, int axis, size_t bytes)
{
    takt_cuda_lane lane = {.rows = 1};
    for (int d = 0; d < axis; d++)
        lane.rows *= (size_t)v->dim[d];
    lane.bytes = bytes / lane.rows;
    lane.step = lane.bytes * (size_t)v->dim[axis];
    return lane;
}

static takt_status add_lanes(takt_planner *p, const takt_node *n, const takt_graph *g,
                             takt_cuda_body *b)
{
    const size_t own = b->control == TAKT_CUDA_LOOP, first = g->input_count + own + b->carried;
    b->lanes = takt_planner_get(p, (g->input_count + g->output_count) * sizeof *b->lanes);
    if (b->lanes == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < b->sequences; i++) {
        const takt_view *v = &p->step->in[b->carried + i];
        b->lanes[b->carried + i] =
            lane_of(v, axis_of(n, "axes", i, v->rank), b->bytes[b->carried + i]);
    }
    for (size_t i = b->carried; i < n->out_count; i++) {
        const takt_view *v = &p->step->out[i];
        const size_t port = first + i - b->carried;
        const int axis = own ? 0 : axis_of(n, "out_axes", i - b->carried, v->rank);
        b->lanes[port] = lane_of(v, axis, b->bytes[port]);
    }
    return TAKT_OK;
}

static takt_status add_iterations(takt_planner *p, const takt_node *n, takt_cuda_body *b)
{
    const takt_graph *g = takt_node_attr(n, "body")->graph;
    b->carried = (size_t)takt_node_int(n, "carried");
    if (b->control == TAKT_CUDA_SCAN) {
        b->sequences = (size_t)takt_node_int(n, "sequences");
        b->is_reverse = takt_node_int(n, "reverse") != 0;
        const takt_view *v = &p->step->in[b->carried];
        b->iterations = (size_t)v->dim[axis_of(n, "axes", 0, v->rank)];
    }
    TAKT_TRY(add_ports(p, g, b));
    TAKT_TRY(add_lanes(p, n, g, b));
    return add_child(p, g, b);
}

/* Reports the host's part, and the first step of the bodies that it computes itself. */
static takt_status set_note(takt_planner *p, const takt_cuda_body *b)
{
    const char *does = b->control == TAKT_CUDA_IF ? "the condition goes to the host, which chooses"
                                                  : "the host starts every iteration of the body";
    const takt_step *first = NULL;
    size_t here = 0;
    for (size_t i = 0; i < b->plan_count; i++)
        for (size_t k = 0; k < b->plans[i]->step_count; k++) {
            const takt_step *s = &b->plans[i]->steps[k];
            if (s->space != TAKT_HOST || s->node_count == 0)
                continue;
            first = here++ == 0 ? s : first;
        }
    p->step->note = does;
    if (first == NULL)
        return TAKT_OK;
    p->step->note =
        takt_arena_format(&p->plan->arena, "%s; %zu of its steps are there, too: %s: %s", does,
                          here, first->kind, first->note != NULL ? first->note : "no device code");
    return p->step->note != NULL ? TAKT_OK : TAKT_ERR_MEMORY;
}

static takt_status compile(takt_planner *p)
{
    const takt_node *n = &p->graph->nodes[p->group->nodes[0]];
    takt_cuda_body *b = takt_planner_get(p, sizeof *b);
    takt_cuda_step *s;
    if (b == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_cuda_step_get(p, 0, &s));
    *b = (takt_cuda_body){.control = n->op == &takt_op_if     ? TAKT_CUDA_IF
                                     : n->op == &takt_op_loop ? TAKT_CUDA_LOOP
                                                              : TAKT_CUDA_SCAN,
                          .most = p->ctx->limits.trip_count};
    s->body = b;
    TAKT_TRY(add_views(p, n));
    TAKT_TRY(b->control == TAKT_CUDA_IF ? add_branches(p, n, b) : add_iterations(p, n, b));
    p->step->is_driven = true;
    return set_note(p, b);
}

const takt_cuda_kind takt_cuda_body_kind = {.name = "body", .accepts = accepts, .compile = compile};
