/* Expand.c - Expand: broadcasting both ways. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    size_t count;
    const takt_id x = takt_onnx_in(c, 0);
    const takt_type *t = takt_onnx_type(c, 0);
    const takt_dim *dims = takt_onnx_dims(c, 1, &count);
    takt_type out = *t, want = {.dtype = t->dtype, .rank = (int)count};
    bool fits = false;
    if (c->status != TAKT_OK)
        return c->status;
    if (count > TAKT_MAX_RANK)
        return takt_onnx_refuse(c, "%zu dimensions", count);
    for (size_t i = 0; i < count; i++)
        want.dim[i] = dims[i];
    TAKT_TRY(takt_type_broadcast(c->g->dims, &out, &want, &fits));
    if (!fits)
        return takt_onnx_refuse(c, "the shapes do not broadcast");
    return takt_onnx_done(c, takt_broadcast(c->g, x, out.dim, (size_t)out.rank));
}

const takt_onnx_op takt_onnx_Expand = {.names = {"Expand"}, .adapt = adapt};
