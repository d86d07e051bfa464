/* Arg.c - ArgMax and ArgMin. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_op *op = takt_span_is(c->node->op, "ArgMax") ? &takt_op_argmax : &takt_op_argmin;
    const takt_named_attr attrs[] = {
        {"axis", takt_attr_i64(takt_onnx_i(c, "axis", 0))},
        {"keep", takt_attr_bool(takt_onnx_i(c, "keepdims", 1) != 0)},
        {"last", takt_attr_bool(takt_onnx_i(c, "select_last_index", 0) != 0)}};
    return takt_onnx_done(c, takt_onnx_op1(c, op, takt_onnx_in(c, 0), 3, attrs));
}

const takt_onnx_op takt_onnx_Arg = {.names = {"ArgMax", "ArgMin"}, .adapt = adapt};
