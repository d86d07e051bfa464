/* Dropout.c - Dropout as it runs after training: nothing is dropped. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const takt_type *t = takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (takt_onnx_has(c, 2)) {
        if (takt_onnx_known_i(c, 2, 0) != 0 && takt_onnx_known_f(c, 1, 0.5) != 0)
            return takt_onnx_refuse(c, "training mode");
    }
    takt_onnx_set(c, 0, x);
    const takt_id yes = takt_onnx_scalar(c, c->opset >= 10 ? TAKT_BOOL : t->dtype, 1);
    takt_onnx_set(c, 1, takt_broadcast(c->g, yes, t->dim, (size_t)t->rank));
    return c->status;
}

const takt_onnx_op takt_onnx_Dropout = {.names = {"Dropout"}, .adapt = adapt};
