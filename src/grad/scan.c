/* scan.c - the gradient of `scan`: a scan in the other direction.
 *
 * The first scan is run again to keep the carried values that every step began with. The second
 * carries their gradients, and sums of those of the captures, from the last step to the first:
 *
 *     (d carried..., d captures..., elements..., carried..., d scanned..., captures...)
 *         -> (d carried..., d captures..., d elements...)
 */
#include "grad/reverse.h"
#include "op/ops.h"

enum { BODY, CARRIED, SEQUENCES, AXES, OUT_AXES, REVERSE };

typedef struct work {
    takt_graph *g;
    const takt_node *n;
    const takt_graph *body;
    const takt_id *dy;
    takt_id *dx;
    size_t carried, sequences, captures, scanned;
    takt_graph *forward, *backward;
    /* of the backward scan */
    takt_id *in;
    int64_t *axes, *out_axes;
    size_t in_count, axis_count, out_count;
    /* inside its body */
    takt_id *map;
    takt_id *seeds, *sums; /* what arrives at carried values, and what captures have so far */
} work;

static bool is_float(const work *w, size_t input)
{
    return takt_dtype_is_float(takt_type_of(w->body, w->body->inputs[input].id)->dtype);
}

static int64_t axis_of(const takt_attr *list, size_t i)
{
    return i < list->count ? list->i64s[i] : 0;
}

static takt_status init(work *w)
{
    const takt_node *n = w->n;
    w->body = n->attr[BODY].graph;
    w->carried = (size_t)n->attr[CARRIED].i64;
    w->sequences = (size_t)n->attr[SEQUENCES].i64;
    w->captures = n->in_count - w->carried - w->sequences;
    w->scanned = n->out_count - w->carried;
    const size_t most = 2 * ((size_t)n->in_count + n->out_count);
    w->in = takt_arena_array(&w->g->arena, most, sizeof *w->in);
    w->axes = takt_arena_array(&w->g->arena, most, sizeof *w->axes);
    w->out_axes = takt_arena_array(&w->g->arena, most, sizeof *w->out_axes);
    w->map = takt_arena_array(&w->g->arena, w->body->count, sizeof *w->map);
    w->seeds = takt_arena_array(&w->g->arena, most, sizeof *w->seeds);
    w->sums = takt_arena_array(&w->g->arena, most, sizeof *w->sums);
    if (w->in == NULL || w->axes == NULL || w->out_axes == NULL || w->map == NULL ||
        w->seeds == NULL || w->sums == NULL)
        return TAKT_ERR_MEMORY;
    for (size_t i = 0; i < w->body->count; i++)
        w->map[i] = TAKT_NONE;
    TAKT_TRY(takt_graph_create(w->g->ctx, w->g, &w->forward));
    return takt_graph_create(w->g->ctx, w->g, &w->backward);
}

/* The scan again, with what every step began with as its scanned results. */
static takt_id run_forward(work *w)
{
    takt_graph *to = w->forward;
    const takt_node *n = w->n;
    takt_id *map = takt_arena_array(&to->arena, w->body->count, sizeof *map);
    takt_status status = map == NULL ? TAKT_ERR_MEMORY : takt_graph_begin_copy(w->body, to, map);
    if (status == TAKT_OK)
        status = takt_grad_copy(w->body, to, map);
    for (size_t i = 0; i < w->carried && status == TAKT_OK; i++)
        takt_grad_output(to, map[w->body->outputs[i].id]);
    for (size_t i = 0; i < w->carried && status == TAKT_OK; i++)
        takt_grad_output(to, map[w->body->inputs[i].id]);
    takt_graph_fail_if(w->g, status != TAKT_OK ? status : to->status);
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(to)},
                                     {"carried", n->attr[CARRIED]},
                                     {"sequences", n->attr[SEQUENCES]},
                                     {"axes", n->attr[AXES]},
                                     {"reverse", n->attr[REVERSE]}};
    return takt_graph_call(w->g, &takt_op_scan, n->in_count, n->in, 5, attrs);
}

static void add_sequence(work *w, takt_id id, int64_t axis)
{
    w->in[w->in_count++] = id;
    w->axes[w->axis_count++] = axis;
}

static takt_id zeros(takt_graph *g, takt_id like)
{
    return takt_broadcast_like(g, takt_scalar_like(g, like, 0), like);
}

/* Inputs of the backward scan and of its body, side by side. */
static void declare_carried(work *w)
{
    takt_graph *to = w->backward;
    for (size_t i = 0; i < w->carried; i++)
        if (is_float(w, i)) {
            w->in[w->in_count++] = w->dy[i] != TAKT_NONE ? w->dy[i] : zeros(w->g, w->n->in[i]);
            w->seeds[i] = takt_grad_input(to, "dh", &w->n->type[i]);
        }
    for (size_t i = w->carried + w->sequences; i < w->n->in_count; i++)
        if (is_float(w, i)) {
            w->in[w->in_count++] = zeros(w->g, w->n->in[i]);
            w->sums[i] = takt_grad_input(to, "dw", takt_type_of(w->body, w->body->inputs[i].id));
        }
}

static void declare_input(work *w, size_t i)
{
    const takt_id id = w->body->inputs[i].id;
    w->map[id] = takt_grad_input(w->backward, "x", takt_type_of(w->body, id));
}

static void declare_rest(work *w, takt_id forward)
{
    for (size_t i = w->carried; i < w->carried + w->sequences; i++) {
        add_sequence(w, w->n->in[i], axis_of(&w->n->attr[AXES], i - w->carried));
        declare_input(w, i);
    }
    for (size_t i = 0; i < w->carried; i++) {
        add_sequence(w, takt_graph_get(w->g, forward, w->carried + i), 0);
        declare_input(w, i);
    }
    for (size_t i = 0; i < w->scanned; i++) {
        const size_t k = w->carried + i;
        if (w->dy[k] == TAKT_NONE)
            continue;
        add_sequence(w, w->dy[k], axis_of(&w->n->attr[OUT_AXES], i));
        w->seeds[k] =
            takt_grad_input(w->backward, "dy", takt_type_of(w->body, w->body->outputs[k].id));
    }
    for (size_t i = w->carried + w->sequences; i < w->n->in_count; i++) {
        w->in[w->in_count++] = w->n->in[i];
        declare_input(w, i);
    }
}

/* One step's gradients: of everything that is a float, by the results that something arrives at. */
static takt_status differentiate_body(work *w, takt_id *gradients)
{
    takt_graph *to = w->backward;
    const size_t most = (size_t)w->n->in_count + w->n->out_count;
    takt_id *ids = takt_arena_array(&to->arena, 4 * most, sizeof *ids);
    if (ids == NULL)
        return TAKT_ERR_MEMORY;
    takt_grad_request r = {
        .out = ids, .seed = ids + most, .in = ids + 2 * most, .result = ids + 3 * most};
    TAKT_TRY(takt_grad_copy(w->body, to, w->map));
    for (size_t k = 0; k < w->n->out_count; k++) {
        const bool arrives = k < w->carried ? is_float(w, k) : w->dy[k] != TAKT_NONE;
        if (arrives) {
            ids[r.out_count] = w->map[w->body->outputs[k].id];
            ids[most + r.out_count++] = w->seeds[k];
        }
    }
    for (size_t i = 0; i < w->n->in_count; i++)
        if (is_float(w, i))
            ids[2 * most + r.in_count++] = w->map[w->body->inputs[i].id];
    TAKT_TRY(to->status);
    TAKT_TRY(takt_grad_append(to, &r));
    for (size_t i = 0, k = 0; i < w->n->in_count; i++)
        gradients[i] = is_float(w, i) ? r.result[k++] : TAKT_NONE;
    return TAKT_OK;
}

static takt_status finish_body(work *w)
{
    takt_graph *to = w->backward;
    takt_id *gradients = takt_arena_array(&to->arena, w->n->in_count, sizeof *gradients);
    if (gradients == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(differentiate_body(w, gradients));
    const size_t first = w->carried + w->sequences;
    for (size_t i = 0; i < w->carried; i++)
        if (is_float(w, i))
            takt_grad_output(to, gradients[i]);
    for (size_t i = first; i < w->n->in_count; i++)
        if (is_float(w, i))
            takt_grad_output(to, takt_add(to, w->sums[i], gradients[i]));
    for (size_t i = w->carried; i < first; i++)
        if (is_float(w, i)) {
            w->out_axes[w->out_count++] = axis_of(&w->n->attr[AXES], i - w->carried);
            takt_grad_output(to, gradients[i]);
        }
    return to->status;
}

static takt_status run_backward(work *w)
{
    const size_t first = w->carried + w->sequences;
    size_t carried = 0, result = 0;
    for (size_t i = 0; i < w->n->in_count; i++)
        carried += (i < w->carried || i >= first) && is_float(w, i);
    const takt_named_attr attrs[] = {{"body", takt_attr_graph(w->backward)},
                                     {"carried", takt_attr_i64((int64_t)carried)},
                                     {"sequences", takt_attr_i64((int64_t)w->axis_count)},
                                     {"axes", takt_attr_i64s(w->axes, w->axis_count)},
                                     {"out_axes", takt_attr_i64s(w->out_axes, w->out_count)},
                                     {"reverse", takt_attr_bool(!w->n->attr[REVERSE].boolean)}};
    const takt_id id = takt_graph_call(w->g, &takt_op_scan, w->in_count, w->in, 6, attrs);
    for (size_t i = 0; i < w->carried; i++)
        if (is_float(w, i))
            w->dx[i] = takt_graph_get(w->g, id, result++);
    for (size_t i = first; i < w->n->in_count; i++)
        if (is_float(w, i))
            w->dx[i] = takt_graph_get(w->g, id, result++);
    for (size_t i = w->carried; i < first; i++)
        if (is_float(w, i))
            w->dx[i] = takt_graph_get(w->g, id, result++);
    return w->g->status;
}

static takt_status differentiate(work *w)
{
    TAKT_TRY(init(w));
    const takt_id forward = run_forward(w);
    TAKT_TRY(w->g->status);
    declare_carried(w);
    declare_rest(w, forward);
    TAKT_TRY(w->g->status);
    TAKT_TRY(w->backward->status);
    TAKT_TRY(finish_body(w));
    return run_backward(w);
}

takt_status takt_grad_scan(takt_graph *g, const takt_node *n, const takt_id *dy, takt_id *dx)
{
    work w = {.g = g, .n = n, .dy = dy, .dx = dx};
    const takt_status status = differentiate(&w);
    takt_graph_destroy(w.forward);
    takt_graph_destroy(w.backward);
    return status;
}
