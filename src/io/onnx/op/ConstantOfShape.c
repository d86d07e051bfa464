/* ConstantOfShape.c - ConstantOfShape: one value everywhere. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    size_t count;
    const takt_dim *dims = takt_onnx_dims(c, 0, &count);
    const takt_pb_attr *a = takt_onnx_attr(c, "value");
    if (c->status != TAKT_OK)
        return c->status;
    takt_id value = takt_onnx_scalar(c, TAKT_F32, 0);
    if (a != NULL && a->t != NULL) {
        takt_tensor t;
        TAKT_TRY(takt_onnx_tensor(c->im->source, a->t, &t));
        value = takt_graph_constant(c->g, &t);
        takt_tensor_release(&t);
        value = takt_onnx_shape(c, value, NULL, 0);
    }
    return takt_onnx_done(c, takt_broadcast(c->g, value, dims, count));
}

const takt_onnx_op takt_onnx_ConstantOfShape = {.names = {"ConstantOfShape"}, .adapt = adapt};
