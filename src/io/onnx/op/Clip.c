/* Clip.c - Clip: bounds are attributes, or inputs from opset 11 on. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    takt_id x = takt_onnx_in(c, 0);
    const takt_pb_attr *low = takt_onnx_attr(c, "min"), *high = takt_onnx_attr(c, "max");
    if (x == TAKT_NONE || c->status != TAKT_OK)
        return takt_onnx_refuse(c, "the input is missing");
    if (low != NULL)
        x = takt_binary(c->g, &takt_op_max, x, takt_scalar_like(c->g, x, (double)low->f));
    else if (takt_onnx_has(c, 1))
        x = takt_binary(c->g, &takt_op_max, x, takt_onnx_in(c, 1));
    if (high != NULL)
        x = takt_binary(c->g, &takt_op_min, x, takt_scalar_like(c->g, x, (double)high->f));
    else if (takt_onnx_has(c, 2))
        x = takt_binary(c->g, &takt_op_min, x, takt_onnx_in(c, 2));
    return takt_onnx_done(c, x);
}

const takt_onnx_op takt_onnx_Clip = {.names = {"Clip"}, .adapt = adapt};
