/* unroll.c - unrolls a scan of known length: TensorFlow Lite's loops are slow, and each of its
 * recurrent operators supports one cell. */
#include "io/tflite/write/emit.h"
#include "op/util/control.h"
#include "pass/copier.h"

enum { BODY, CARRIED, SEQUENCES, AXES, OUT_AXES, REVERSE }; /* attributes of scan */
enum { MOST_STEPS = 1024, MOST_NODES = 1 << 18 };

static int axis_of(const takt_attr *list, size_t i, int rank)
{
    const int64_t axis = i < list->count ? list->i64s[i] : 0;
    return (int)(axis < 0 ? axis + rank : axis);
}

static int64_t length_of(const takt_graph *g, const takt_node *n)
{
    const takt_type *t = takt_type_of(g, n->in[n->attr[CARRIED].i64]);
    return t->dim[axis_of(&n->attr[AXES], 0, t->rank)];
}

/* Element `at` of a sequence, without the axis. */
static takt_id element(takt_graph *g, takt_id x, int axis, int64_t at)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(g, x);
    takt_dim dims[TAKT_MAX_RANK];
    for (int d = 0, k = 0; d < t.rank; d++)
        if (d != axis)
            dims[k++] = t.dim[d];
    return takt_reshape(g, takt_slice(g, x, axis, at, at + 1, 1), dims, (size_t)t.rank - 1);
}

static takt_id widened(takt_graph *g, takt_id x, int axis)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(g, x);
    takt_dim dims[TAKT_MAX_RANK];
    for (int d = 0, k = 0; d <= t.rank; d++)
        dims[d] = d == axis ? 1 : t.dim[k++];
    return takt_reshape(g, x, dims, (size_t)t.rank + 1);
}

/* Inlines the body on these inputs; `map` has room for its nodes, `in` for the inputs of one. */
static void inline_body(takt_graph *g, const takt_graph *body, const takt_id *given, takt_id *map,
                        takt_id *in)
{
    for (size_t i = 0; i < body->count; i++)
        map[i] = TAKT_NONE;
    for (size_t i = 0; i < body->input_count; i++)
        map[body->inputs[i].id] = given[i];
    for (size_t i = 0; i < body->count && g->status == TAKT_OK; i++) {
        const takt_node *n = &body->nodes[i];
        if (map[i] != TAKT_NONE || n->op == &takt_op_input)
            continue;
        for (uint32_t k = 0; k < n->in_count; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : map[n->in[k]];
        map[i] = takt_graph_copy_node(g, n, in);
    }
}

static size_t widest(const takt_graph *body)
{
    size_t most = 0;
    for (size_t i = 0; i < body->count; i++)
        most = body->nodes[i].in_count > most ? body->nodes[i].in_count : most;
    return most;
}

/* Unrolls scan `n`, whose inputs are in the new graph; results go to `out`. */
static takt_status steps(takt_copier *c, const takt_node *n, takt_id *out)
{
    const takt_graph *body = n->attr[BODY].graph;
    takt_graph *g = c->out;
    const size_t carried = (size_t)n->attr[CARRIED].i64, sequences = (size_t)n->attr[SEQUENCES].i64;
    const int64_t length = length_of(g, n);
    const size_t scanned = n->out_count - carried;
    takt_id *given = takt_arena_copy(&c->arena, n->in, n->in_count * sizeof *given);
    takt_id *map = takt_arena_array(&c->arena, body->count + 1, sizeof *map);
    takt_id *in = takt_arena_array(&c->arena, widest(body) + 1, sizeof *in);
    takt_id *rows = takt_arena_array(&c->arena, (scanned + 1) * (size_t)length, sizeof *rows);
    if (given == NULL || map == NULL || in == NULL || rows == NULL)
        return TAKT_ERR_MEMORY;
    for (int64_t i = 0; i < length && g->status == TAKT_OK; i++) {
        const int64_t at = n->attr[REVERSE].boolean ? length - 1 - i : i;
        for (size_t k = 0; k < sequences; k++) {
            const takt_id x = n->in[carried + k];
            given[carried + k] =
                element(g, x, axis_of(&n->attr[AXES], k, takt_type_of(g, x)->rank), at);
        }
        inline_body(g, body, given, map, in);
        for (size_t k = 0; k < carried; k++)
            given[k] = map[body->outputs[k].id];
        for (size_t k = 0; k < scanned; k++) {
            const takt_id y = map[body->outputs[carried + k].id];
            const int rank = n->type[carried + k].rank;
            rows[k * (size_t)length + (size_t)at] =
                widened(g, y, axis_of(&n->attr[OUT_AXES], k, rank));
        }
    }
    for (size_t k = 0; k < carried; k++)
        out[k] = given[k];
    for (size_t k = 0; k < scanned && g->status == TAKT_OK; k++)
        out[carried + k] = takt_concat(g, rows + k * (size_t)length, (size_t)length,
                                       axis_of(&n->attr[OUT_AXES], k, n->type[carried + k].rank));
    return g->status;
}

static bool is_unrolled(const takt_graph *g, const takt_node *n)
{
    if (n->op != &takt_op_scan || n->attr[BODY].graph->slot_count > 0)
        return false;
    const int64_t length = length_of(g, n);
    return length > 0 && length <= MOST_STEPS &&
           (size_t)length * n->attr[BODY].graph->count <= MOST_NODES;
}

static takt_status visit(takt_copier *c, takt_id id, takt_id **results)
{
    const takt_node *old = &c->in->nodes[id];
    if (old->op == &takt_op_get && results[old->in[0]] != NULL) {
        c->map[id] = results[old->in[0]][old->attr[0].i64];
        return TAKT_OK;
    }
    const takt_node n = takt_copier_node(c, id);
    if (!is_unrolled(c->out, &n)) {
        c->map[id] = takt_graph_copy_node(c->out, &n, n.in);
        return c->out->status;
    }
    results[id] = takt_arena_array(&c->arena, n.out_count, sizeof **results);
    if (results[id] == NULL)
        return TAKT_ERR_MEMORY;
    const takt_id *in = takt_arena_copy(&c->arena, n.in, n.in_count * sizeof *in);
    takt_node kept = n;
    kept.in = in;
    return in != NULL ? steps(c, &kept, results[id]) : TAKT_ERR_MEMORY;
}

takt_status takt_tflw_unroll(const takt_graph *in, takt_graph **out)
{
    takt_copier c;
    takt_status status = takt_copier_init(&c, in);
    takt_id **results = NULL;
    if (status == TAKT_OK) {
        results = takt_arena_array(&c.arena, in->count + 1, sizeof *results);
        status = results != NULL ? takt_graph_begin_copy(in, c.out, c.map) : TAKT_ERR_MEMORY;
    }
    for (size_t i = 0; i < in->count && status == TAKT_OK; i++)
        if (c.live[i] && c.map[i] == TAKT_NONE)
            status = visit(&c, (takt_id)i, results);
    return takt_copier_done(&c, status, out);
}
