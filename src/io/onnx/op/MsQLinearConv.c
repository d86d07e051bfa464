/* MsQLinearConv.c - com.microsoft's QLinearConv: ONNX's, whose channels may be last. */
#include "io/onnx/spatial.h"

static takt_status adapt(takt_call *c)
{
    return takt_spatial_either(c, takt_onnx_find((takt_span){0}, c->node->op)->adapt);
}

const takt_onnx_op takt_onnx_MsQLinearConv = {
    .names = {"QLinearConv"}, .domain = "com.microsoft", .adapt = adapt};
