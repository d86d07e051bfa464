/* Conv.c - Conv: our conv plus a bias. */
#include "io/onnx/spatial.h"

static takt_status adapt(takt_call *c)
{
    const takt_id y = takt_spatial_conv(c);
    return c->status != TAKT_OK ? c->status : takt_onnx_done(c, y);
}

const takt_onnx_op takt_onnx_Conv = {.names = {"Conv"}, .adapt = adapt};
