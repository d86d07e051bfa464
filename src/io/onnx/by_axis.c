/* by_axis.c - an operator along an axis that a run finds: an If for each axis with the node for it,
 * written as an ONNX graph and read like one of the file. */
#include "io/onnx/control.h"

/* Names of the inner graph; those of its node's inputs belong to the graph around it. */
#define NAME(word) takt_span_of("takt.by_axis." word)

static takt_span counted(takt_call *c, const char *word, int64_t number)
{
    const char *text =
        takt_arena_format(&c->im->arena, "takt.by_axis.%s.%lld", word, (long long)number);
    if (text == NULL && c->status == TAKT_OK)
        c->status = TAKT_ERR_MEMORY;
    return takt_span_of(text != NULL ? text : "");
}

static takt_pb_attr *attr_of(takt_call *c, const char *name, takt_pb_attr_type type)
{
    takt_pb_attr *a = takt_onnx_get(c, 1, sizeof *a);
    if (a != NULL)
        *a = (takt_pb_attr){.name = takt_span_of(name), .type = type};
    return a;
}

/* A node with one result. */
static takt_pb_node node_of(takt_call *c, const char *op, takt_span a, takt_span b, takt_span out)
{
    takt_span *names = takt_onnx_get(c, 3, sizeof *names);
    if (names == NULL)
        return (takt_pb_node){.at = c->node->at};
    names[0] = a;
    names[1] = b;
    names[2] = out;
    return (takt_pb_node){.name = c->node->name,
                          .op = takt_span_of(op),
                          .inputs = names,
                          .input_count = a.length == 0   ? 0
                                         : b.length == 0 ? 1
                                                         : 2,
                          .outputs = names + 2,
                          .output_count = 1,
                          .at = c->node->at};
}

static takt_pb_node constant(takt_call *c, int64_t value, takt_span out)
{
    takt_pb_node n = node_of(c, "Constant", (takt_span){0}, (takt_span){0}, out);
    n.attrs = attr_of(c, "value_int", TAKT_PB_INT);
    n.attr_count = 1;
    if (n.attrs != NULL)
        n.attrs->i = value;
    return n;
}

static takt_pb_node list_of(takt_call *c, int64_t *values, size_t count, takt_span out)
{
    takt_pb_node n = node_of(c, "Constant", (takt_span){0}, (takt_span){0}, out);
    n.attrs = attr_of(c, "value_ints", TAKT_PB_INTS);
    n.attr_count = 1;
    if (n.attrs != NULL) {
        n.attrs->ints = values;
        n.attrs->int_count = count;
    }
    return n;
}

static takt_pb_graph *graph_of(takt_call *c, size_t nodes)
{
    takt_pb_graph *g = takt_onnx_get(c, 1, sizeof *g);
    takt_pb_value *out = takt_onnx_get(c, 1, sizeof *out);
    takt_pb_node *at = takt_onnx_get(c, nodes, sizeof *at);
    if (g == NULL || out == NULL || at == NULL)
        return NULL;
    *out = (takt_pb_value){.name = NAME("y"), .at = c->node->at};
    *g = (takt_pb_graph){.nodes = at, .outputs = out, .output_count = 1, .at = c->node->at};
    return g;
}

/* The node with its input `input` a number. */
static takt_pb_graph *taken(takt_call *c, size_t input, int64_t axis)
{
    takt_pb_graph *g = graph_of(c, 2);
    takt_span *names = takt_onnx_get(c, c->node->input_count + 1, sizeof *names);
    if (g == NULL || names == NULL)
        return NULL;
    for (size_t i = 0; i < c->node->input_count; i++)
        names[i] = i == input ? NAME("axis") : c->node->inputs[i];
    names[c->node->input_count] = NAME("y");
    g->nodes[0] = constant(c, axis, NAME("axis"));
    g->nodes[1] = *c->node;
    g->nodes[1].inputs = names;
    g->nodes[1].outputs = names + c->node->input_count;
    g->nodes[1].output_count = 1;
    g->node_count = 2;
    return g;
}

/* "which == axis ? yes : no" as the last nodes of `g`: three. */
static takt_status add_if(takt_call *c, takt_pb_graph *g, int64_t axis, takt_pb_graph *yes,
                          takt_pb_graph *no)
{
    takt_pb_attr *branches = takt_onnx_get(c, 2, sizeof *branches);
    if (yes == NULL || no == NULL || branches == NULL)
        return TAKT_ERR_MEMORY;
    takt_pb_node *n = &g->nodes[g->node_count];
    const takt_span number = counted(c, "number", axis), is = counted(c, "is", axis);
    n[0] = constant(c, axis, number);
    n[1] = node_of(c, "Equal", NAME("which"), number, is);
    n[2] = node_of(c, "If", is, (takt_span){0}, NAME("y"));
    branches[0] =
        (takt_pb_attr){.name = takt_span_of("then_branch"), .type = TAKT_PB_GRAPH, .g = yes};
    branches[1] =
        (takt_pb_attr){.name = takt_span_of("else_branch"), .type = TAKT_PB_GRAPH, .g = no};
    n[2].attrs = branches;
    n[2].attr_count = 2;
    g->node_count += 3;
    return c->status;
}

/* Nested Ifs: only the selected axis is computed. */
static takt_status add_nested(takt_call *c, takt_pb_graph *g, size_t input, const int64_t *axes,
                              size_t left)
{
    takt_pb_graph *no = left > 2 ? graph_of(c, 3) : taken(c, input, axes[1]);
    if (left > 2 && no != NULL)
        TAKT_TRY(add_nested(c, no, input, axes + 1, left - 1));
    return add_if(c, g, axes[0], taken(c, input, axes[0]), no);
}

/* A chain of Ifs, each of which returns its own result or the previous one. Sizes that differ
 * cannot be found inside a branch. */
static takt_status add_chain(takt_call *c, takt_pb_graph *g, size_t input, const int64_t *axes,
                             size_t count)
{
    TAKT_TRY(add_if(c, g, axes[0], taken(c, input, axes[0]), taken(c, input, axes[1])));
    for (size_t i = 2; i < count; i++) {
        takt_pb_graph *no = graph_of(c, 1);
        const takt_span last = counted(c, "y", (int64_t)i);
        if (no == NULL)
            return TAKT_ERR_MEMORY;
        g->nodes[g->node_count - 1].outputs[0] = last;
        no->nodes[0] = node_of(c, "Identity", last, (takt_span){0}, NAME("y"));
        no->node_count = 1;
        TAKT_TRY(add_if(c, g, axes[i], taken(c, input, axes[i]), no));
    }
    return c->status;
}

takt_status takt_onnx_by_axis(takt_call *c, size_t input, const int64_t *axes, size_t count,
                              bool sizes_differ)
{
    enum { BEFORE = 4 };
    const int rank = takt_onnx_type(c, 0)->rank;
    takt_pb_graph *g = graph_of(c, BEFORE + 3 * count);
    int64_t *place = takt_onnx_get(c, (size_t)rank, sizeof *place);
    int64_t *copy = takt_onnx_get(c, count, sizeof *copy);
    takt_onnx_value out = {0};
    if (g == NULL || place == NULL || copy == NULL)
        return TAKT_ERR_MEMORY;
    for (int i = 0; i < rank; i++)
        place[i] = (int64_t)count; /* beyond the second table: the run fails */
    for (size_t i = 0; i < count; i++) {
        place[axes[i]] = (int64_t)i;
        copy[i] = axes[i];
    }
    g->nodes[0] = list_of(c, place, (size_t)rank, NAME("places"));
    g->nodes[1] = node_of(c, "Gather", NAME("places"), c->node->inputs[input], NAME("place"));
    g->nodes[2] = list_of(c, copy, count, NAME("axes"));
    g->nodes[3] = node_of(c, "Gather", NAME("axes"), NAME("place"), NAME("which"));
    g->node_count = BEFORE;
    TAKT_TRY(sizes_differ ? add_chain(c, g, input, copy, count)
                          : add_nested(c, g, input, copy, count));
    TAKT_TRY(takt_subgraph_inline(c, g, NULL, 0, &out));
    if (out.kind != TAKT_ONNX_TENSOR)
        return takt_onnx_refuse(c, "an axis that is not known");
    return takt_onnx_done(c, out.id);
}
