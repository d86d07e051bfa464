/* appended.c - carried values that the body of a Loop only appends rows to.
 *
 * Exporters write a list of results this way: every iteration concatenates one more. As a carried
 * value it would have a new size in every iteration, and be copied each time. If all iterations
 * give rows of the same size they become a scanned result instead, concatenated to the first value
 * at the end.
 */
#include <string.h>

#include "io/onnx/control.h"

/* Number of times `name` is read in a graph and its subgraphs, results included. */
static size_t uses(const takt_pb_graph *g, takt_span name)
{
    size_t count = 0;
    for (size_t i = 0; i < g->node_count; i++) {
        const takt_pb_node *n = &g->nodes[i];
        for (size_t k = 0; k < n->input_count; k++)
            count += takt_onnx_same(n->inputs[k], name);
        for (size_t k = 0; k < n->attr_count; k++)
            count += n->attrs[k].g != NULL ? uses(n->attrs[k].g, name) : 0;
    }
    for (size_t i = 0; i < g->output_count; i++)
        count += takt_onnx_same(g->outputs[i].name, name);
    return count;
}

static bool is_own(const takt_pb_node *n)
{
    return n->domain.length == 0 || takt_span_is(n->domain, "ai.onnx");
}

/* The node that produces `name`; node_count if none does. */
static size_t maker_of(const takt_pb_graph *g, takt_span name)
{
    size_t k = 0;
    while (k < g->node_count &&
           (g->nodes[k].output_count != 1 || !takt_onnx_same(g->nodes[k].outputs[0], name)))
        k++;
    return k;
}

/* The node at which carried value `i` becomes its old rows followed by new ones (concat). */
typedef struct appending {
    size_t concat;
    size_t cast; /* the cast between the two; node_count: there is none */
    int64_t axis;
} appending;

static bool is_appended(const takt_pb_graph *g, size_t i, appending *a)
{
    const takt_span from = g->inputs[2 + i].name, to = g->outputs[1 + i].name;
    bool has_axis = false;
    a->concat = maker_of(g, to);
    if (a->concat == g->node_count)
        return false;
    const takt_pb_node *n = &g->nodes[a->concat];
    for (size_t k = 0; k < n->attr_count; k++)
        if (takt_span_is(n->attrs[k].name, "axis") && n->attrs[k].ref.length == 0) {
            a->axis = n->attrs[k].i;
            has_axis = true;
        }
    if (!is_own(n) || !takt_span_is(n->op, "Concat") || !has_axis || n->input_count < 2 ||
        uses(g, from) != 1 || uses(g, to) != 1)
        return false;
    a->cast = g->node_count;
    if (takt_onnx_same(n->inputs[0], from))
        return true;
    a->cast = maker_of(g, n->inputs[0]);
    if (a->cast == g->node_count)
        return false;
    const takt_pb_node *c = &g->nodes[a->cast];
    return is_own(c) && (takt_span_is(c->op, "Cast") || takt_span_is(c->op, "Identity")) &&
           c->input_count == 1 && takt_onnx_same(c->inputs[0], from) && uses(g, n->inputs[0]) == 1;
}

static takt_status set_edges(takt_call *c, const takt_pb_graph *from, size_t carried,
                             takt_appended *a)
{
    takt_pb_graph *to = &a->body;
    to->inputs = takt_onnx_get(c, from->input_count, sizeof *to->inputs);
    to->outputs = takt_onnx_get(c, from->output_count, sizeof *to->outputs);
    if (to->inputs == NULL || to->outputs == NULL)
        return TAKT_ERR_MEMORY;
    size_t in = 2, out = 1;
    memcpy(to->inputs, from->inputs, 2 * sizeof *to->inputs);
    to->outputs[0] = from->outputs[0];
    for (size_t i = 0; i < a->kept_count; i++) {
        to->inputs[in++] = from->inputs[2 + a->kept[i]];
        to->outputs[out++] = from->outputs[1 + a->kept[i]];
    }
    for (size_t i = 1 + carried; i < from->output_count; i++)
        to->outputs[out++] = from->outputs[i];
    for (size_t i = 0; i < a->count; i++)
        to->outputs[out++] = from->outputs[1 + a->which[i]];
    to->input_count = in;
    return TAKT_OK;
}

/* Removes nodes whose operator was cleared from the list. */
static size_t without_gone(const takt_pb_graph *from, takt_pb_node *nodes)
{
    size_t count = 0;
    for (size_t i = 0; i < from->node_count; i++)
        if (nodes[i].op.length > 0 || from->nodes[i].op.length == 0)
            nodes[count++] = nodes[i];
    return count;
}

takt_status takt_onnx_appended(takt_call *c, const takt_pb_graph *body, size_t carried,
                               takt_appended *out)
{
    *out = (takt_appended){.body = *body};
    out->kept = takt_onnx_get(c, carried + 1, sizeof *out->kept);
    out->which = takt_onnx_get(c, carried + 1, sizeof *out->which);
    out->axis = takt_onnx_get(c, carried + 1, sizeof *out->axis);
    takt_pb_node *nodes = takt_onnx_get(c, body->node_count + 1, sizeof *nodes);
    if (out->kept == NULL || out->which == NULL || out->axis == NULL || nodes == NULL)
        return TAKT_ERR_MEMORY;
    if (body->input_count != 2 + carried) /* which is refused later */
        carried = 0;
    if (body->node_count > 0)
        memcpy(nodes, body->nodes, body->node_count * sizeof *nodes);
    for (size_t i = 0; i < carried; i++) {
        appending a = {0};
        if (!is_appended(body, i, &a)) {
            out->kept[out->kept_count++] = i;
            continue;
        }
        nodes[a.concat].inputs++; /* only the rows */
        nodes[a.concat].input_count--;
        nodes[a.cast].op = (takt_span){0}; /* may be one past the last */
        out->axis[out->count] = a.axis;
        out->which[out->count++] = i;
    }
    out->body.nodes = nodes;
    out->body.node_count = without_gone(body, nodes);
    return carried > 0 ? set_edges(c, body, carried, out) : TAKT_OK;
}

takt_id takt_appended_join(takt_call *c, takt_id first, takt_id rows, int64_t axis)
{
    if (first == TAKT_NONE || rows == TAKT_NONE)
        return TAKT_NONE;
    const takt_type t = *takt_type_of(c->g, rows);
    const int at = takt_onnx_axis(c, axis, t.rank - 1);
    int64_t order[TAKT_MAX_RANK];
    takt_dim dims[TAKT_MAX_RANK];
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    for (int d = 0; d < t.rank; d++)
        order[d] = d < at ? d + 1 : d == at ? 0 : d;
    for (int d = 0; d + 1 < t.rank; d++)
        dims[d] = t.dim[d + 1];
    c->status = takt_dim_make(c->g->dims, TAKT_DIM_MUL, t.dim[0], t.dim[at + 1], &dims[at]);
    const takt_named_attr attr = {"perm", takt_attr_i64s(order, (size_t)t.rank)};
    const takt_id transposed = takt_onnx_op1(c, &takt_op_transpose, rows, 1, &attr);
    if (c->status != TAKT_OK || transposed == TAKT_NONE)
        return TAKT_NONE;
    const takt_id parts[2] = {first, takt_reshape(c->g, transposed, dims, (size_t)t.rank - 1)};
    return parts[1] == TAKT_NONE ? TAKT_NONE : takt_concat(c->g, parts, 2, at);
}
