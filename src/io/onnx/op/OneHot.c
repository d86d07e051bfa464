/* OneHot.c - OneHot: any values for off and on; indices out of range give off. */
#include "io/onnx/lengths.h"

/* A number of any type, or a dimension. */
static takt_status depth_of(takt_call *c, takt_dim *n)
{
    size_t count = 0;
    if (takt_onnx_has(c, 1) && takt_onnx_peek(c, 1) == NULL && takt_onnx_may_find(c) &&
        takt_dtype_is_float(takt_onnx_type(c, 1)->dtype)) {
        *n = takt_onnx_length(c, takt_onnx_in(c, 1), takt_onnx_at_most(TAKT_LENGTH_OPEN));
        return c->status;
    }
    if (takt_onnx_has(c, 1) && takt_onnx_peek(c, 1) == NULL) {
        const takt_dim *dims = takt_onnx_dims(c, 1, &count);
        if (c->status != TAKT_OK)
            return c->status;
        *n = count == 1 ? dims[0] : 0;
        return count == 1 ? TAKT_OK : takt_onnx_refuse(c, "depth has %zu elements", count);
    }
    const double depth = takt_onnx_known_f(c, 1, -1);
    if (c->status != TAKT_OK)
        return c->status;
    if (!(depth >= 0 && depth <= INT32_MAX))
        return takt_onnx_refuse(c, "depth is %g", depth);
    *n = (takt_dim)depth;
    return TAKT_OK;
}

static takt_status adapt(takt_call *c)
{
    takt_dim n = 0;
    TAKT_TRY(depth_of(c, &n));
    takt_id index = takt_onnx_in(c, 0);
    const takt_type t = *takt_onnx_type(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    const int axis = takt_onnx_axis(c, takt_onnx_i(c, "axis", -1), t.rank + 1);
    if (c->status != TAKT_OK)
        return c->status;
    takt_dim dims[TAKT_MAX_RANK + 1];
    for (int i = 0; i <= t.rank; i++)
        dims[i] = i == axis ? n : 1;
    const takt_named_attr attrs[] = {{"shape", takt_attr_shape(dims, (size_t)t.rank + 1)},
                                     {"axis", takt_attr_i64(axis)}};
    const takt_id line = takt_graph_call(c->g, &takt_op_iota, 0, NULL, 2, attrs);
    index = takt_onnx_unsqueeze(c, takt_onnx_cast(c, index, TAKT_I64), axis);
    const takt_id size = line == TAKT_NONE ? line : takt_onnx_size(c, line, axis),
                  zero = takt_scalar_i64(c->g, 0);
    const takt_id below = takt_binary(c->g, &takt_op_lt, index, zero);
    index = takt_select(c->g, below, takt_add(c->g, index, size), index);
    const takt_id hit = takt_binary(c->g, &takt_op_eq, index, line), values = takt_onnx_in(c, 2);
    const takt_id off = takt_onnx_shape(c, takt_slice(c->g, values, 0, 0, 1, 1), NULL, 0);
    const takt_id on = takt_onnx_shape(c, takt_slice(c->g, values, 0, 1, 2, 1), NULL, 0);
    return takt_onnx_done(c, takt_select(c->g, hit, on, off));
}

const takt_onnx_op takt_onnx_OneHot = {.names = {"OneHot"}, .adapt = adapt};
