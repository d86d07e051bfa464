/* Squeeze.c - Squeeze and Unsqueeze: axes are an attribute, from opset 13 on an input. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const bool adds = takt_span_is(c->node->op, "Unsqueeze");
    const takt_ints axes = takt_onnx_list(c, "axes", 1);
    const takt_named_attr attr = {"axes", takt_attr_i64s(axes.at, axes.count)};
    const takt_op *op = adds ? &takt_op_unsqueeze : &takt_op_squeeze;
    if (adds && !axes.is_set)
        return takt_onnx_refuse(c, "axes are missing");
    return takt_onnx_done(c, takt_onnx_op1(c, op, takt_onnx_in(c, 0), axes.is_set, &attr));
}

const takt_onnx_op takt_onnx_Squeeze = {.names = {"Squeeze", "Unsqueeze"}, .adapt = adapt};
