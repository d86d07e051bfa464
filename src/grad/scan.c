/* scan.c - the gradient of `scan`: a scan in the other direction.
 *
 * It needs the carried values that every step began with: results of the scan, or of another one
 * that the pass join-scans makes one with it. The backward scan carries their gradients, and sums
 * of those of the captures, from the last step to the first:
 *
 *     (d carried..., d captures..., elements..., carried..., d scanned..., products...,
 * captures...)
 *         -> (d carried..., d captures..., d elements..., d products...)
 *
 * Products of a carried value or an element by a capture are cut out of the body (scan.h): their
 * values come in as a sequence, and what their gradients bring to the captures is one product of
 * all steps afterwards. Values behind such products may come in, too (scan_keep.c).
 */
#include "grad/scan.h"

enum { BODY, CARRIED, SEQUENCES, AXES, OUT_AXES, REVERSE };

typedef struct work {
    takt_graph *g;
    const takt_node *n;
    const takt_graph *body;
    takt_scan_backward b;
    const takt_id *dy;
    takt_id *dx;
    size_t carried, sequences;
    takt_graph *forward;
    takt_scan_cuts cuts;
    takt_id *starts; /* the values every step began with: sequences, by carried value */
    int64_t *start_axes;
    /* of the backward scan */
    int64_t *out_axes;
    takt_id *outs; /* scanned results of its body */
    size_t out_count;
    size_t *element; /* which of them has the gradient of an element; SIZE_MAX: none */
    /* inside its body */
    takt_id *map;
    takt_id *seeds, *sums; /* gradients arriving at carried values, and sums for captures so far */
} work;

static bool is_float(const work *w, size_t input)
{
    return takt_dtype_is_float(takt_type_of(w->body, w->body->inputs[input].id)->dtype);
}

/* Capture `input` has a sum that is carried. */
static bool is_summed(const work *w, size_t input)
{
    return is_float(w, input) && !takt_scan_is_cut(w->n, &w->cuts, input);
}

static int64_t axis_in(const work *w, size_t input)
{
    return takt_scan_axis(&w->n->attr[AXES], input - w->carried,
                          takt_type_of(w->body, w->body->inputs[input].id)->rank);
}

static int64_t axis_out(const work *w, size_t output)
{
    return takt_scan_axis(&w->n->attr[OUT_AXES], output - w->carried,
                          takt_type_of(w->body, w->body->outputs[output].id)->rank);
}

static takt_status init(work *w)
{
    const takt_node *n = w->n;
    takt_arena *arena = &w->g->arena;
    w->body = n->attr[BODY].graph;
    w->carried = (size_t)n->attr[CARRIED].i64;
    w->sequences = (size_t)n->attr[SEQUENCES].i64;
    TAKT_TRY(takt_scan_find_cuts(w->g, n, &w->cuts));
    w->b.cuts = &w->cuts;
    const size_t most = 2 * ((size_t)n->in_count + n->out_count) + 2 * w->cuts.count + 8;
    w->b.in = takt_arena_array(arena, most, sizeof *w->b.in);
    w->b.axes = takt_arena_array(arena, most, sizeof *w->b.axes);
    w->out_axes = takt_arena_array(arena, most, sizeof *w->out_axes);
    w->outs = takt_arena_array(arena, most, sizeof *w->outs);
    w->element = takt_arena_array(arena, most, sizeof *w->element);
    w->starts = takt_arena_array(arena, most, sizeof *w->starts);
    w->start_axes = takt_arena_array(arena, most, sizeof *w->start_axes);
    w->map = takt_arena_array(arena, w->body->count, sizeof *w->map);
    w->seeds = takt_arena_array(arena, most, sizeof *w->seeds);
    w->sums = takt_arena_array(arena, most, sizeof *w->sums);
    if (w->b.in == NULL || w->b.axes == NULL || w->out_axes == NULL || w->outs == NULL ||
        w->element == NULL || w->starts == NULL || w->start_axes == NULL || w->map == NULL ||
        w->seeds == NULL || w->sums == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < w->body->count; i++)
        w->map[i] = TAKT_NONE;
    TAKT_TRY(takt_graph_create(w->g->ctx, w->g, &w->forward));
    return takt_graph_create(w->g->ctx, w->g, &w->b.body);
}

/* ---- initial values of every step ---- */

/* A scanned result that is the carried value `i` after each step; out_count: there is none. */
static size_t result_of(const work *w, size_t i)
{
    size_t k = w->carried;
    while (k < w->n->out_count && w->body->outputs[k].id != w->body->outputs[i].id)
        k++;
    return k;
}

/* The first value and all results but the last. */
static takt_id shifted(work *w, size_t i, size_t k)
{
    takt_graph *g = w->g;
    const int64_t axis = axis_out(w, k);
    const bool reverse = w->n->attr[REVERSE].boolean;
    const takt_id same = takt_graph_append(g, w->n->op, w->n->in_count, w->n->in, w->n->attr);
    const takt_id y = takt_graph_get(g, same, k);
    if (g->status != TAKT_OK)
        return TAKT_NONE;
    const takt_type type = *takt_type_of(g, w->n->in[i]);
    takt_dim dims[TAKT_MAX_RANK];
    for (int d = 0, from = 0; d <= type.rank; d++)
        dims[d] = d == axis ? 1 : type.dim[from++];
    const takt_id first = takt_reshape(g, w->n->in[i], dims, (size_t)type.rank + 1);
    const takt_id both[2] = {reverse ? y : first, reverse ? first : y};
    const takt_id all = takt_concat(g, both, 2, axis);
    return all == TAKT_NONE
               ? TAKT_NONE
               : takt_slice(g, all, axis, reverse ? 1 : 0, reverse ? INT64_MAX : -1, 1);
}

/* A second scan, with the values every step began with as its scanned results. */
static takt_id run_forward(work *w)
{
    takt_graph *to = w->forward;
    const takt_node *n = w->n;
    size_t count = 0;
    takt_id *map = takt_arena_array(&to->arena, w->body->count, sizeof *map);
    takt_status status = map == NULL ? TAKT_ERR_MEMORY : takt_graph_begin_copy(w->body, to, map);
    status = status == TAKT_OK ? takt_grad_copy(w->body, to, map) : status;
    for (size_t i = 0; i < w->carried && status == TAKT_OK; i++)
        takt_grad_output(to, map[w->body->outputs[i].id]);
    for (size_t i = 0; i < w->carried && status == TAKT_OK; i++)
        if (w->starts[i] == TAKT_NONE) {
            w->out_axes[count++] = w->start_axes[i];
            takt_grad_output(to, map[w->body->inputs[i].id]);
        }
    takt_graph_fail_if(w->g, status != TAKT_OK ? status : to->status);
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(to)},
                                     {"carried", n->attr[CARRIED]},
                                     {"sequences", n->attr[SEQUENCES]},
                                     {"axes", n->attr[AXES]},
                                     {"out_axes", takt_attr_i64s(w->out_axes, count)},
                                     {"reverse", n->attr[REVERSE]}};
    return takt_graph_call(w->g, &takt_op_scan, n->in_count, n->in, 6, attrs);
}

static takt_status find_starts(work *w)
{
    size_t missing = 0;
    for (size_t i = 0; i < w->carried; i++) {
        const size_t k = result_of(w, i);
        const bool is_there = k < w->n->out_count, is_taken = is_there && w->cuts.count == 0;
        w->start_axes[i] = is_there ? axis_out(w, k) : 0;
        w->starts[i] = is_taken ? shifted(w, i, k) : TAKT_NONE;
        TAKT_TRY(w->g->status);
        missing += !is_taken;
    }
    const takt_id again = missing > 0 ? run_forward(w) : TAKT_NONE;
    TAKT_TRY(w->g->status);
    missing = 0;
    for (size_t i = 0; i < w->carried; i++)
        if (w->starts[i] == TAKT_NONE)
            w->starts[i] = takt_graph_get(w->g, again, w->carried + missing++);
    for (size_t i = 0; i < w->cuts.count; i++) {
        takt_scan_cut *c = &w->cuts.list[i];
        c->x = c->left < w->carried ? w->starts[c->left] : w->n->in[c->left];
        if (c->left < w->carried)
            c->axis = w->start_axes[c->left];
    }
    return w->g->status;
}

/* ---- inputs of the backward scan and of its body, in parallel ---- */

static void add_sequence(work *w, takt_id id, int64_t axis)
{
    w->b.in[w->b.in_count++] = id;
    w->b.axes[w->b.axis_count++] = axis;
}

static takt_id zeros(takt_graph *g, takt_id like)
{
    return takt_broadcast_like(g, takt_scalar_like(g, like, 0), like);
}

static void declare_carried(work *w)
{
    takt_graph *to = w->b.body;
    for (size_t i = 0; i < w->carried; i++)
        if (is_float(w, i)) {
            w->b.in[w->b.in_count++] = w->dy[i] != TAKT_NONE ? w->dy[i] : zeros(w->g, w->n->in[i]);
            w->seeds[i] = takt_grad_input(to, "dh", &w->n->type[i]);
        }
    for (size_t i = w->carried + w->sequences; i < w->n->in_count; i++)
        if (is_summed(w, i)) {
            w->b.in[w->b.in_count++] = zeros(w->g, w->n->in[i]);
            w->sums[i] = takt_grad_input(to, "dw", takt_type_of(w->body, w->body->inputs[i].id));
        }
}

static void declare_input(work *w, size_t i)
{
    const takt_id id = w->body->inputs[i].id;
    w->map[id] = takt_grad_input(w->b.body, "x", takt_type_of(w->body, id));
}

static void declare_cuts(work *w)
{
    for (size_t i = 0; i < w->cuts.count; i++) {
        takt_scan_cut *c = &w->cuts.list[i];
        add_sequence(w, takt_scan_cut_value(w->g, w->n, c), c->axis);
        c->in = takt_grad_input(w->b.body, "g", takt_type_of(w->body, c->result));
        w->map[c->product] = w->map[c->result] = c->in;
    }
}

static void declare_rest(work *w)
{
    for (size_t i = w->carried; i < w->carried + w->sequences; i++) {
        add_sequence(w, w->n->in[i], axis_in(w, i));
        declare_input(w, i);
    }
    for (size_t i = 0; i < w->carried; i++) {
        add_sequence(w, w->starts[i], w->start_axes[i]);
        declare_input(w, i);
    }
    for (size_t k = w->carried; k < w->n->out_count; k++) {
        if (w->dy[k] == TAKT_NONE)
            continue;
        add_sequence(w, w->dy[k], axis_out(w, k));
        w->seeds[k] =
            takt_grad_input(w->b.body, "dy", takt_type_of(w->body, w->body->outputs[k].id));
    }
    declare_cuts(w);
    for (size_t i = w->carried + w->sequences; i < w->n->in_count; i++) {
        w->b.in[w->b.in_count++] = w->n->in[i];
        declare_input(w, i);
    }
}

/* ---- its body ---- */

/* With respect to: floats that are carried, elements, or summed captures; then the cuts. */
static void request_inputs(work *w, takt_grad_request *r, takt_id *in)
{
    const size_t first = w->carried + w->sequences;
    for (size_t i = 0; i < w->n->in_count; i++)
        if (i < first ? is_float(w, i) : is_summed(w, i))
            in[r->in_count++] = w->map[w->body->inputs[i].id];
    for (size_t i = 0; i < w->cuts.count; i++)
        in[r->in_count++] = w->cuts.list[i].in;
}

/* The contribution of a cut to the carried value on its left. */
static void add_cut(work *w, const takt_scan_cut *c, takt_id *gradients)
{
    takt_graph *to = w->b.body;
    if (c->dy == TAKT_NONE || c->left >= w->carried)
        return;
    const takt_id weight = w->map[w->body->inputs[c->weight].id];
    const takt_id more = takt_matmul(to, c->dy, weight, false, !c->transposes);
    takt_id *sum = &gradients[c->left];
    *sum = *sum == TAKT_NONE ? more : takt_add(to, *sum, more);
}

/* One step's gradients for every requested input, from the results that have an incoming gradient;
 * TAKT_NONE where there is none. */
static takt_status differentiate_body(work *w, takt_id *gradients)
{
    takt_graph *to = w->b.body;
    const size_t most = (size_t)w->n->in_count + w->n->out_count + w->cuts.count;
    const size_t first = w->carried + w->sequences;
    takt_id *ids = takt_arena_array(&to->arena, 4 * most, sizeof *ids);
    if (ids == NULL)
        return TAKT_ERR_MEMORY;
    takt_grad_request r = {
        .out = ids, .seed = ids + most, .in = ids + 2 * most, .result = ids + 3 * most};
    TAKT_TRY(takt_grad_copy(w->body, to, w->map));
    w->b.copied = to->count;
    for (size_t k = 0; k < w->n->out_count; k++) {
        const bool arrives = k < w->carried ? is_float(w, k) : w->dy[k] != TAKT_NONE;
        if (arrives) {
            ids[r.out_count] = w->map[w->body->outputs[k].id];
            ids[most + r.out_count++] = w->seeds[k];
        }
    }
    request_inputs(w, &r, ids + 2 * most);
    for (size_t i = 0; i < r.in_count; i++)
        r.result[i] = TAKT_NONE;
    TAKT_TRY(to->status);
    TAKT_TRY(takt_grad_reverse(to, &r, 0));
    size_t k = 0;
    for (size_t i = 0; i < w->n->in_count; i++)
        gradients[i] = (i < first ? is_float(w, i) : is_summed(w, i)) ? r.result[k++] : TAKT_NONE;
    for (size_t i = 0; i < w->cuts.count; i++)
        w->cuts.list[i].dy = r.result[k++];
    for (size_t i = 0; i < w->cuts.count; i++)
        add_cut(w, &w->cuts.list[i], gradients);
    return to->status;
}

/* A scanned result of the body; an existing one serves both. */
static size_t scanned(work *w, takt_id id, int64_t axis)
{
    size_t i = 0;
    while (i < w->out_count && (w->outs[i] != id || w->out_axes[i] != axis))
        i++;
    if (i == w->out_count) {
        w->outs[w->out_count] = id;
        w->out_axes[w->out_count++] = axis;
        takt_grad_output(w->b.body, id);
    }
    return i;
}

static takt_status finish_body(work *w)
{
    takt_graph *to = w->b.body;
    takt_id *gradients = takt_arena_array(&to->arena, w->n->in_count, sizeof *gradients);
    if (gradients == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(differentiate_body(w, gradients));
    const size_t first = w->carried + w->sequences;
    for (size_t i = 0; i < w->carried; i++)
        if (is_float(w, i))
            takt_grad_output(to, gradients[i] != TAKT_NONE
                                     ? gradients[i]
                                     : zeros(to, w->map[w->body->inputs[i].id]));
    for (size_t i = first; i < w->n->in_count; i++)
        if (is_summed(w, i))
            takt_grad_output(to, gradients[i] != TAKT_NONE ? takt_add(to, w->sums[i], gradients[i])
                                                           : w->sums[i]);
    for (size_t i = w->carried; i < first; i++)
        w->element[i] =
            gradients[i] != TAKT_NONE ? scanned(w, gradients[i], axis_in(w, i)) : SIZE_MAX;
    for (size_t i = 0; i < w->cuts.count; i++) {
        takt_scan_cut *c = &w->cuts.list[i];
        c->out = c->dy != TAKT_NONE ? scanned(w, c->dy, c->axis) : SIZE_MAX;
    }
    return to->status;
}

/* ---- the backward scan ---- */

static takt_status run_backward(work *w)
{
    const size_t first = w->carried + w->sequences;
    size_t carried = 0, result = 0;
    for (size_t i = 0; i < w->n->in_count; i++)
        carried += i < w->carried ? is_float(w, i) : i >= first && is_summed(w, i);
    w->b.carried = carried;
    w->b.map = w->map;
    TAKT_TRY(takt_scan_keep(&w->b));
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(w->b.body)},
                                     {"carried", takt_attr_i64((int64_t)carried)},
                                     {"sequences", takt_attr_i64((int64_t)w->b.axis_count)},
                                     {"axes", takt_attr_i64s(w->b.axes, w->b.axis_count)},
                                     {"out_axes", takt_attr_i64s(w->out_axes, w->out_count)},
                                     {"reverse", takt_attr_bool(!w->n->attr[REVERSE].boolean)}};
    const takt_id id = takt_graph_call(w->g, &takt_op_scan, w->b.in_count, w->b.in, 6, attrs);
    for (size_t i = 0; i < w->n->in_count; i++)
        if (i < w->carried ? is_float(w, i) : i >= first && is_summed(w, i))
            w->dx[i] = takt_graph_get(w->g, id, result++);
    for (size_t i = w->carried; i < first; i++)
        if (w->element[i] != SIZE_MAX)
            w->dx[i] = takt_graph_get(w->g, id, carried + w->element[i]);
    for (size_t i = 0; i < w->cuts.count; i++) {
        const takt_scan_cut *c = &w->cuts.list[i];
        if (c->out != SIZE_MAX)
            takt_scan_cut_grad(w->g, w->n, c, takt_graph_get(w->g, id, carried + c->out), w->dx);
    }
    return w->g->status;
}

static takt_status differentiate(work *w)
{
    TAKT_TRY(init(w));
    TAKT_TRY(find_starts(w));
    declare_carried(w);
    declare_rest(w);
    TAKT_TRY(w->g->status);
    TAKT_TRY(w->b.body->status);
    TAKT_TRY(finish_body(w));
    return run_backward(w);
}

takt_status takt_grad_scan(takt_graph *g, const takt_node *n, const takt_id *dy, takt_id *dx)
{
    work w = {.g = g, .n = n, .dy = dy, .dx = dx, .b = {.g = g, .n = n}};
    const takt_status status = differentiate(&w);
    takt_graph_destroy(w.forward);
    takt_graph_destroy(w.b.body);
    return status;
}
