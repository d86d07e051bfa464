/* If.c - If: the branch itself where the condition is known, else ours. */
#include "io/onnx/control.h"

static takt_status both(takt_call *c, takt_id condition, const takt_pb_graph *yes,
                        const takt_pb_graph *no)
{
    takt_captures captures = {0};
    takt_graph *a = NULL, *b = NULL;
    TAKT_TRY(takt_subgraph_captures(c, yes, &captures));
    TAKT_TRY(takt_subgraph_captures(c, no, &captures));
    TAKT_TRY(takt_subgraph_build(c, yes, NULL, 0, &captures, &a));
    takt_status status = takt_subgraph_build(c, no, NULL, 0, &captures, &b);
    takt_id *in = takt_onnx_get(c, captures.count + 1, sizeof *in);
    if (status == TAKT_OK && in != NULL) {
        in[0] = condition;
        for (size_t i = 0; i < captures.count; i++)
            in[i + 1] = captures.ids[i];
        const takt_named_attr attrs[] = {{"then", takt_attr_graph(a)},
                                         {"else", takt_attr_graph(b)}};
        const takt_id y = takt_graph_call(c->g, &takt_op_if, captures.count + 1, in, 2, attrs);
        for (size_t i = 0; i < c->out_count; i++)
            takt_onnx_set(
                c, i, y == TAKT_NONE || yes->output_count == 1 ? y : takt_graph_get(c->g, y, i));
    }
    takt_graph_destroy(a);
    takt_graph_destroy(b);
    return status != TAKT_OK ? status : c->status;
}

static takt_status adapt(takt_call *c)
{
    const takt_pb_graph *yes = takt_onnx_graph(c, "then_branch"),
                        *no = takt_onnx_graph(c, "else_branch");
    const int64_t *known = takt_array_one(takt_onnx_peek(c, 0));
    takt_id condition = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK || condition == TAKT_NONE)
        return takt_onnx_refuse(c, "the condition is missing");
    if (takt_type_of(c->g, condition)->dtype != TAKT_BOOL)
        return takt_onnx_refuse(c, "the condition is not bool");
    if (yes->output_count != c->out_count || no->output_count != c->out_count)
        return takt_onnx_refuse(c, "the branches have other results than the node");
    if (known != NULL)
        return takt_subgraph_inline(c, *known != 0 ? yes : no, NULL, 0, c->out);
    if (takt_type_of(c->g, condition)->rank > 0)
        condition = takt_reshape(c->g, condition, NULL, 0);
    const takt_status status = both(c, condition, yes, no);
    if (status != TAKT_OK && status != TAKT_ERR_MEMORY && c->im->source->fixed_count == 0)
        return takt_fail(c->ctx, TAKT_E_ONNX_STATIC,
                         "If: the branches differ in type; the condition must be known when the "
                         "model is loaded");
    return status;
}

const takt_onnx_op takt_onnx_If = {.names = {"If"}, .adapt = adapt};
