/* DeformConv.c - DeformConv on images: our deform_conv plus a bias. */
#include "io/onnx/spatial.h"
#include "op/record/deform_conv.h"

static takt_status adapt(takt_call *c)
{
    const takt_type x = *takt_onnx_type(c, 0), w = *takt_onnx_type(c, 1);
    takt_spatial s;
    if (c->status != TAKT_OK)
        return c->status;
    if (x.rank != 4 || w.rank != 4)
        return takt_onnx_refuse(c, "x of rank %d and w of rank %d; both must have 4 axes", x.rank,
                                w.rank);
    const int64_t kernel[2] = {w.dim[2], w.dim[3]};
    TAKT_TRY(takt_spatial_read(c, &x, kernel, 2, &s));
    const takt_named_attr attrs[] = {
        {"stride", takt_attr_i64s(s.stride, 2)},
        {"dilation", takt_attr_i64s(s.dilation, 2)},
        {"pad", takt_attr_i64s(s.pad, 4)},
        {"groups", takt_attr_i64(takt_onnx_i(c, "group", 1))},
        {"offset_groups", takt_attr_i64(takt_onnx_i(c, "offset_group", 1))}};
    const takt_id in[] = {takt_onnx_in(c, 0), takt_onnx_in(c, 1), takt_onnx_in(c, 2),
                          takt_onnx_has(c, 4) ? takt_onnx_in(c, 4) : TAKT_NONE};
    const size_t count = takt_onnx_has(c, 4) ? 4 : 3;
    if (c->status != TAKT_OK)
        return c->status;
    takt_id y = takt_graph_call(c->g, &takt_op_deform_conv, count, in, 5, attrs);
    if (takt_onnx_has(c, 3) && y != TAKT_NONE)
        y = takt_add(c->g, y, takt_onnx_channel(c, takt_onnx_in(c, 3), 4));
    return takt_onnx_done(c, y);
}

const takt_onnx_op takt_onnx_DeformConv = {.names = {"DeformConv"}, .adapt = adapt};
