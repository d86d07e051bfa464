/* loop.c - the gradient of `loop`: that of a scan over a known number of iterations.
 *
 * The loop runs again as a scan over 0, 1, 2, ... up to a bound; iterations that the loop would not
 * have reached pass the carried values on. The body is inside an `if`, so that iterations beyond
 * the end cost nothing and make no NaN:
 *
 *     (active, carried..., i, trip, captures...)
 *         -> if(active and i < trip, then=body, else=(false, carried..., zeros...)) */
#include "grad/reverse.h"
#include "op/ops.h"
#include "op/util/make.h"

enum { BODY, CARRIED, LENGTH };
enum { TRIP, CONDITION, FIRST }; /* inputs of the loop */

typedef struct work {
    takt_graph *g;
    const takt_node *n;
    takt_graph *body; /* of the loop */
    size_t carried;
    takt_graph *scan, *other; /* the body of the scan; the work after the loop */
} work;

/* Maximum number of iterations: rows of scanned results, or a trip count that is a constant. */
static takt_status find_bound(const work *w, takt_dim *bound)
{
    takt_ctx *ctx = w->g->ctx;
    if (w->n->attr[LENGTH].count == 1) {
        *bound = w->n->attr[LENGTH].dims[0];
        return TAKT_OK;
    }
    const takt_node *trip = takt_node_at(w->g, w->n->in[TRIP]);
    if (trip->op != &takt_op_constant) {
        takt_fail(ctx, TAKT_E_NO_GRADIENT,
                  "loop: has no gradient when nothing bounds how often it runs");
        return takt_fail_hint(ctx, "make the trip count a constant, or give length=");
    }
    const int64_t count = takt_dtype_get_i(TAKT_I64, takt_tensor_data(trip->attr[0].tensor), 0);
    if (count > 0 && (uint64_t)count > ctx->limits.trip_count)
        return takt_fail(ctx, TAKT_E_NO_GRADIENT,
                         "loop: its gradient would keep %lld iterations; limits.trip_count is %llu",
                         (long long)count, (unsigned long long)ctx->limits.trip_count);
    *bound = count > 0 ? count : 0;
    return TAKT_OK;
}

/* (i, condition, carried..., captures...) -> (false, carried..., zeros...) */
static void build_other(work *w)
{
    takt_graph *to = w->other;
    takt_id *in = takt_arena_array(&to->arena, w->body->input_count, sizeof *in);
    if (in == NULL) {
        takt_graph_fail(to, TAKT_ERR_MEMORY);
        return;
    }
    for (size_t i = 0; i < w->body->input_count; i++)
        in[i] = takt_grad_input(to, "x", takt_type_of(w->body, w->body->inputs[i].id));
    const takt_id zero = takt_scalar_i64(to, 0);
    takt_grad_output(to, takt_cast(to, zero, TAKT_BOOL));
    for (size_t i = 0; i < w->carried; i++)
        takt_grad_output(to, in[FIRST + i]);
    for (size_t i = 1 + w->carried; i < w->body->output_count; i++) {
        const takt_type t = *takt_type_of(w->body, w->body->outputs[i].id);
        takt_grad_output(to,
                         takt_broadcast(to, takt_cast(to, zero, t.dtype), t.dim, (size_t)t.rank));
    }
}

static void build_scan(work *w)
{
    takt_graph *to = w->scan;
    const takt_type number = {.dtype = TAKT_I64}, flag = {.dtype = TAKT_BOOL};
    const size_t count = w->n->in_count;
    takt_id *in = takt_arena_array(&to->arena, count + 1, sizeof *in);
    if (in == NULL) {
        takt_graph_fail(to, TAKT_ERR_MEMORY);
        return;
    }
    const takt_id active = in[2] = takt_grad_input(to, "active", &flag);
    for (size_t i = 0; i < w->carried; i++)
        in[1 + FIRST + i] =
            takt_grad_input(to, "x", takt_type_of(w->body, w->body->inputs[FIRST + i].id));
    in[1] = takt_grad_input(to, "i", &number);
    const takt_id trip = takt_grad_input(to, "trip", &number);
    for (size_t i = FIRST + w->carried; i < count; i++)
        in[1 + i] = takt_grad_input(to, "x", takt_type_of(w->body, w->body->inputs[i].id));
    in[0] = takt_binary(to, &takt_op_and, active, takt_binary(to, &takt_op_lt, in[1], trip));
    const takt_named_attr attrs[] = {{"then", takt_attr_graph(w->body)},
                                     {"else", takt_attr_graph(w->other)}};
    const takt_id id = takt_graph_call(to, &takt_op_if, count + 1, in, 2, attrs);
    for (size_t i = 0; i < w->body->output_count; i++)
        takt_grad_output(to, takt_graph_get(to, id, i));
}

/* The loop as a scan in `g`, with its inputs in `in`. */
static takt_id append_scan(work *w, takt_dim bound, takt_id *in)
{
    takt_graph *g = w->g;
    const takt_node *n = w->n;
    size_t count = 0;
    in[count++] = n->in[CONDITION];
    for (size_t i = 0; i < w->carried; i++)
        in[count++] = n->in[FIRST + i];
    in[count++] = takt_make_iota(g, &bound, 1, 0);
    in[count++] = n->in[TRIP];
    for (size_t i = FIRST + w->carried; i < n->in_count; i++)
        in[count++] = n->in[i];
    const takt_named_attr attrs[] = {
        {"body", takt_attr_graph(w->scan)},
        {"carried", takt_attr_i64((int64_t)w->carried + 1)},
        {"sequences", takt_attr_i64(1)},
    };
    return takt_graph_call(g, &takt_op_scan, count, in, 3, attrs);
}

static takt_status differentiate(work *w, const takt_id *dy, takt_id *dx)
{
    takt_graph *g = w->g;
    const size_t in_count = (size_t)w->n->in_count + 1, out_count = (size_t)w->n->out_count + 1;
    takt_dim bound = 0;
    TAKT_TRY(find_bound(w, &bound));
    takt_id *in = takt_arena_array(&g->arena, in_count, sizeof *in);
    takt_id *dx_scan = takt_arena_array(&g->arena, in_count, sizeof *dx_scan);
    takt_id *dy_scan = takt_arena_array(&g->arena, out_count, sizeof *dy_scan);
    if (in == NULL || dx_scan == NULL || dy_scan == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(takt_graph_create(g->ctx, g, &w->scan));
    TAKT_TRY(takt_graph_create(g->ctx, g, &w->other));
    build_other(w);
    TAKT_TRY(w->other->status);
    build_scan(w);
    TAKT_TRY(w->scan->status);
    const takt_id id = append_scan(w, bound, in);
    TAKT_TRY(g->status);
    dy_scan[0] = TAKT_NONE;
    for (size_t i = 1; i < out_count; i++)
        dy_scan[i] = dy[i - 1];
    for (size_t i = 0; i < in_count; i++)
        dx_scan[i] = TAKT_NONE;
    const takt_node scan = *takt_node_at(g, id); /* a copy: the array moves */
    TAKT_TRY(takt_grad_scan(g, &scan, dy_scan, dx_scan));
    for (size_t i = 0; i < w->carried; i++)
        dx[FIRST + i] = dx_scan[1 + i];
    for (size_t i = FIRST + w->carried; i < w->n->in_count; i++)
        dx[i] = dx_scan[i + 1];
    return TAKT_OK;
}

takt_status takt_grad_loop(takt_graph *g, const takt_node *n, const takt_id *dy, takt_id *dx)
{
    work w = {.g = g, .n = n, .body = n->attr[BODY].graph};
    w.carried = (size_t)n->attr[CARRIED].i64;
    const takt_status status = differentiate(&w, dy, dx);
    takt_graph_destroy(w.scan);
    takt_graph_destroy(w.other);
    return status;
}
