/* TopK.c - TopK: k is an attribute, from opset 10 on an input. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_ints k = c->opset >= 10 ? takt_onnx_known_ints(c, 1) : (takt_ints){0};
    const int64_t count = k.count > 0 ? k.at[0] : takt_onnx_i(c, "k", 0);
    const takt_named_attr attrs[] = {{"k", takt_attr_i64(count)},
                                     {"axis", takt_attr_i64(takt_onnx_i(c, "axis", -1))},
                                     {"largest", takt_attr_bool(takt_onnx_i(c, "largest", 1) != 0)},
                                     {"sorted", takt_attr_bool(takt_onnx_i(c, "sorted", 1) != 0)}};
    const takt_id y = takt_onnx_op1(c, &takt_op_top_k, takt_onnx_in(c, 0), 4, attrs);
    if (y == TAKT_NONE)
        return takt_onnx_done(c, y);
    takt_onnx_set(c, 0, takt_graph_get(c->g, y, 0));
    takt_onnx_set(c, 1, takt_graph_get(c->g, y, 1));
    return c->status;
}

const takt_onnx_op takt_onnx_TopK = {.names = {"TopK"}, .adapt = adapt};
