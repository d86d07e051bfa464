/* Softmax.c - Softmax, LogSoftmax and Hardmax: before opset 13 over all axes from `axis` on. */
#include "io/onnx/adapt.h"
#include "op/record/hardmax.h"

static takt_status adapt(takt_call *c)
{
    const takt_op *op = takt_span_is(c->node->op, "Softmax")      ? &takt_op_softmax
                        : takt_span_is(c->node->op, "LogSoftmax") ? &takt_op_log_softmax
                                                                  : &takt_op_hardmax;
    const bool is_old = c->opset < 13;
    int64_t axis = takt_onnx_i(c, "axis", is_old ? 1 : -1);
    takt_id x = takt_onnx_in(c, 0);
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    axis = takt_onnx_axis(c, axis, t.rank == 0 ? 1 : t.rank);
    takt_named_attr attr = {"axis", takt_attr_i64(axis)};
    if (!is_old || axis == t.rank - 1)
        return takt_onnx_done(c, takt_onnx_op1(c, op, x, 1, &attr));
    x = takt_onnx_op1(c, &takt_op_flatten, x, 1, &attr);
    attr.value = takt_attr_i64(1);
    x = takt_onnx_op1(c, op, x, 1, &attr);
    return takt_onnx_done(c, x == TAKT_NONE ? x : takt_reshape(c->g, x, t.dim, (size_t)t.rank));
}

const takt_onnx_op takt_onnx_Softmax = {.names = {"Softmax", "LogSoftmax", "Hardmax"},
                                        .adapt = adapt};
