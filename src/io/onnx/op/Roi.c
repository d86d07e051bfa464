/* Roi.c - RoiAlign, whose coordinates were shifted differently before opset 16, and MaxRoiPool. */
#include "io/onnx/adapt.h"

static takt_status align(takt_call *c)
{
    static const char *const modes[] = {"avg", "max", NULL};
    static const char *const shifts[] = {"output_half_pixel", "half_pixel", NULL};
    const char *usual = c->opset < 16 ? "output_half_pixel" : "half_pixel";
    const int mode = takt_onnx_choice(c, "mode", "avg", modes);
    const int shift = takt_onnx_choice(c, "coordinate_transformation_mode", usual, shifts);
    const takt_named_attr attrs[] = {
        {"height", takt_attr_i64(takt_onnx_i(c, "output_height", 1))},
        {"width", takt_attr_i64(takt_onnx_i(c, "output_width", 1))},
        {"scale", takt_attr_f64(takt_onnx_f(c, "spatial_scale", 1))},
        {"mode", takt_attr_i64(mode)},
        {"samples", takt_attr_i64(takt_onnx_i(c, "sampling_ratio", 0))},
        {"aligned", takt_attr_bool(shift == 1)}};
    const takt_id in[] = {takt_onnx_in(c, 0), takt_onnx_in(c, 1), takt_onnx_in(c, 2)};
    if (c->status != TAKT_OK)
        return c->status;
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_roi_align, 3, in, 6, attrs));
}

static takt_status pool(takt_call *c)
{
    const takt_ints shape = takt_onnx_ints(c, "pooled_shape");
    if (shape.count != 2)
        return takt_onnx_refuse(c, "pooled_shape has %zu numbers", shape.count);
    const takt_named_attr attrs[] = {{"height", takt_attr_i64(shape.at[0])},
                                     {"width", takt_attr_i64(shape.at[1])},
                                     {"scale", takt_attr_f64(takt_onnx_f(c, "spatial_scale", 1))}};
    return takt_onnx_done(c, takt_onnx_op2(c, &takt_op_max_roi_pool, takt_onnx_in(c, 0),
                                           takt_onnx_in(c, 1), 3, attrs));
}

static takt_status adapt(takt_call *c)
{
    return takt_span_is(c->node->op, "RoiAlign") ? align(c) : pool(c);
}

const takt_onnx_op takt_onnx_Roi = {.names = {"RoiAlign", "MaxRoiPool"}, .adapt = adapt};
