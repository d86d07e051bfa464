/* Conv.c - Conv: ours, and a bias. */
#include "io/onnx/spatial.h"

static takt_id with_bias(takt_call *c, takt_id y)
{
    if (!takt_onnx_has(c, 2) || y == TAKT_NONE)
        return y;
    const int rank = takt_type_of(c->g, y)->rank;
    return takt_add(c->g, y, takt_onnx_channel(c, takt_onnx_in(c, 2), rank));
}

/* conv wants kernels of 1 to 3 axes with numbers. */
static takt_status adapt(takt_call *c)
{
    const takt_type *x = takt_onnx_type(c, 0), *w = takt_onnx_type(c, 1);
    takt_spatial s;
    int64_t kernel[TAKT_MAX_RANK];
    if (c->status != TAKT_OK)
        return c->status;
    for (int i = 2; i < w->rank; i++)
        kernel[i - 2] = w->dim[i];
    const takt_ints told = takt_onnx_ints(c, "kernel_shape");
    for (size_t i = 0; i < told.count; i++)
        if (w->rank < 2 || told.count != (size_t)w->rank - 2 || told.at[i] != kernel[i])
            return takt_onnx_refuse(c, "kernel_shape is not that of the weights");
    TAKT_TRY(takt_spatial_read(c, x, kernel, w->rank < 2 ? 0 : (size_t)w->rank - 2, &s));
    const takt_named_attr attrs[] = {{"stride", takt_attr_i64s(s.stride, s.count)},
                                     {"dilation", takt_attr_i64s(s.dilation, s.count)},
                                     {"pad", takt_attr_i64s(s.pad, 2 * s.count)},
                                     {"groups", takt_attr_i64(takt_onnx_i(c, "group", 1))}};
    return takt_onnx_done(c, with_bias(c, takt_onnx_op2(c, &takt_op_conv, takt_onnx_in(c, 0),
                                                        takt_onnx_in(c, 1), 4, attrs)));
}

const takt_onnx_op takt_onnx_Conv = {.names = {"Conv"}, .adapt = adapt};
