/* groups_scan.c - which indices belong together across the body of a scan, and in a slice.
 *
 * A unit of a recurrent cell is a row and a column of the recurrent weights and one index in every
 * gate. The gates are slices of one value of the body, so elements that belong together are found
 * inside it; its inputs and results have the axes of the values outside. */
#include "op/ops.h"
#include "shrink/groups.h"

typedef takt_axis_ref ref;

/* ---- nodes of bodies ---- */

static const takt_graph *body_graph(const takt_node *n)
{
    return n->op == &takt_op_scan ? takt_node_attr(n, "body")->graph : NULL;
}

static void count(const takt_graph *graph, size_t *nodes, size_t *bodies)
{
    *nodes += graph->count;
    for (size_t i = 0; i < graph->count; i++) {
        const takt_graph *body = body_graph(&graph->nodes[i]);
        *bodies += body != NULL;
        if (body != NULL)
            count(body, nodes, bodies);
    }
}

/* The nodes of one graph from `first` on; its bodies get the numbers from `*end` on. */
static takt_status add_nodes(takt_groups *g, const takt_graph *graph, size_t first, size_t *end)
{
    for (size_t i = 0; i < graph->count; i++) {
        takt_node *n = &g->nodes[first + i];
        *n = graph->nodes[i];
        takt_id *in = takt_arena_array(&g->arena, n->in_count + 1, sizeof *in);
        if (in == NULL)
            return TAKT_ERR_MEMORY;
        for (uint32_t k = 0; k < n->in_count; k++)
            in[k] = n->in[k] == TAKT_NONE ? TAKT_NONE : (takt_id)(first + n->in[k]);
        n->in = in;
        const takt_graph *body = body_graph(n);
        if (body == NULL)
            continue;
        g->bodies[g->body_count++] = (takt_group_body){(takt_id)(first + i), body, *end};
        *end += body->count;
    }
    return TAKT_OK;
}

takt_status takt_groups_list_nodes(takt_groups *g)
{
    size_t bodies = 0, end = g->graph->count;
    count(g->graph, &g->node_count, &bodies);
    g->nodes = takt_arena_array(&g->arena, g->node_count + 1, sizeof *g->nodes);
    g->bodies = takt_arena_array(&g->arena, bodies + 1, sizeof *g->bodies);
    if (g->nodes == NULL || g->bodies == NULL)
        return TAKT_ERR_MEMORY;
    TAKT_TRY(add_nodes(g, g->graph, 0, &end));
    for (size_t i = 0; i < g->body_count; i++)
        TAKT_TRY(add_nodes(g, g->bodies[i].graph, g->bodies[i].first, &end));
    return TAKT_OK;
}

const takt_group_body *takt_groups_body(const takt_groups *g, takt_id id)
{
    for (size_t i = 0; i < g->body_count; i++)
        if (g->bodies[i].scan == id)
            return &g->bodies[i];
    return NULL;
}

/* ---- scans ---- */

/* An outer value, and the body's value that is an element of it along `axis`; -1: the same
 * value. */
typedef struct edge {
    takt_id outer, inner;
    int axis;
} edge;

static void relate_edge(takt_groups *g, edge e, bool is_last)
{
    for (int d = 0; d < g->nodes[e.outer].type->rank; d++)
        if (d != e.axis)
            takt_groups_same(g, (ref){e.outer, d},
                             (ref){e.inner, e.axis >= 0 && d > e.axis ? d - 1 : d});
        else if (is_last)
            takt_groups_block(g, (ref){e.outer, d});
}

static int axis_of(const takt_node *n, const char *list, size_t i, int rank)
{
    const takt_attr *axes = takt_node_attr(n, list);
    const int64_t axis = i < axes->count ? axes->i64s[i] : 0;
    return (int)(axis < 0 ? axis + rank : axis);
}

static void relate_result(takt_groups *g, const takt_group_body *b, takt_id outer, size_t index,
                          bool is_last)
{
    const takt_node *n = &g->nodes[b->scan];
    const size_t carried = (size_t)takt_node_int(n, "carried");
    const takt_id inner = (takt_id)(b->first + b->graph->outputs[index].id);
    const int axis =
        index < carried ? -1 : axis_of(n, "out_axes", index - carried, g->nodes[outer].type->rank);
    relate_edge(g, (edge){outer, inner, axis}, is_last);
}

void takt_groups_scan(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const takt_group_body *b = takt_groups_body(g, id);
    const size_t carried = (size_t)takt_node_int(n, "carried");
    const size_t rest = carried + (size_t)takt_node_int(n, "sequences");
    for (uint32_t k = 0; k < n->in_count; k++) {
        const takt_id inner = (takt_id)(b->first + b->graph->inputs[k].id);
        if (n->in[k] == TAKT_NONE)
            continue;
        const int rank = g->nodes[n->in[k]].type->rank;
        const int axis = k < carried || k >= rest ? -1 : axis_of(n, "axes", k - carried, rank);
        relate_edge(g, (edge){n->in[k], inner, axis}, is_last);
        if (k < carried)
            relate_edge(g, (edge){inner, (takt_id)(b->first + b->graph->outputs[k].id), -1},
                        is_last);
    }
    if (n->out_count == 1)
        relate_result(g, b, id, 0, is_last);
    for (const takt_id *user = g->users[id]; *user != TAKT_NONE; user++)
        if (g->nodes[*user].op == &takt_op_get)
            relate_result(g, b, *user, (size_t)takt_node_int(&g->nodes[*user], "index"), is_last);
}

void takt_groups_get(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    const takt_id from = n->in[0];
    if (takt_groups_body(g, from) != NULL)
        takt_groups_scan(g, &g->nodes[from], from, is_last);
    else if (is_last)
        takt_groups_block_node(g, n, id);
}

/* ---- slices ---- */

static int64_t clamp(int64_t v, int64_t size)
{
    v = v < 0 ? v + size : v;
    return v < 0 ? 0 : v > size ? size : v;
}

takt_slice_part takt_groups_slice_part(const takt_node *n, int axis, int64_t size)
{
    const takt_attr *axes = takt_node_attr(n, "axes"), *start = takt_node_attr(n, "start");
    const takt_attr *stop = takt_node_attr(n, "stop"), *step = takt_node_attr(n, "step");
    takt_slice_part part = {0, size, 1};
    for (uint32_t i = 0; i < start->count; i++) {
        const int64_t at = axes->count == 0 ? (int64_t)i : axes->i64s[i];
        if (at != axis && at + n->type->rank != axis)
            continue;
        part.step = step->count == 0 ? 1 : step->i64s[i];
        part.first = clamp(start->i64s[i], size);
        part.count = clamp(stop->i64s[i], size) - part.first;
        part.count = part.count < 0 ? 0 : part.count;
    }
    return part;
}

/* Adjacent parts: their elements follow those of the whole. Other steps are kept unchanged. */
void takt_groups_slice(takt_groups *g, const takt_node *n, takt_id id, bool is_last)
{
    for (int d = 0; d < n->type->rank; d++) {
        const ref u = {n->in[0], d}, v = {id, d};
        const takt_dim size = g->nodes[n->in[0]].type->dim[d];
        const bool is_number = takt_dim_is_number(size);
        const takt_slice_part part = takt_groups_slice_part(n, d, is_number ? size : INT64_MAX);
        if (part.step == 1 && size == n->type->dim[d]) {
            takt_groups_same(g, u, v);
        } else if (part.step == 1 && is_number && part.count > 0) {
            takt_groups_link(g, v, u, (takt_axis_map){1, part.count, 1, part.first});
        } else if (is_last) {
            takt_groups_block(g, u);
            takt_groups_block(g, v);
        }
    }
}
