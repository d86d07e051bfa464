/* Identity.c - Identity, and operators that are one in inference. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    if (!takt_onnx_has(c, 0))
        return takt_onnx_refuse(c, "the input is missing");
    c->out[0] = *c->in[0];
    return TAKT_OK;
}

const takt_onnx_op takt_onnx_Identity = {.names = {"Identity"}, .adapt = adapt};
