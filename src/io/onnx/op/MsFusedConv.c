/* MsFusedConv.c - com.microsoft's FusedConv: Conv, an addend, and an activation. */
#include "io/onnx/spatial.h"

/* Parameter `i` of the activation. */
static double parameter(takt_call *c, size_t i)
{
    const takt_pb_attr *a = takt_onnx_attr(c, "activation_params");
    if (a != NULL && i < a->float_count)
        return (double)a->floats[i];
    (void)takt_onnx_refuse(c, "activation_params lacks number %zu", i);
    return 0;
}

static takt_id activated(takt_call *c, takt_id y)
{
    static const char *const names[] = {"",          "Relu", "Tanh",        "Sigmoid",
                                        "LeakyRelu", "Clip", "HardSigmoid", NULL};
    static const takt_op *const plain[] = {NULL, &takt_op_relu, &takt_op_tanh, &takt_op_sigmoid};
    const int which = takt_onnx_choice(c, "activation", "", names);
    if (which == 0)
        return y;
    if (which < 4)
        return takt_unary(c->g, plain[which], y);
    const double first = parameter(c, 0), second = which > 4 ? parameter(c, 1) : 0;
    if (which == 4)
        return takt_onnx_op1(c, &takt_op_leaky_relu, y, 1,
                             &(takt_named_attr){"slope", takt_attr_f64(first)});
    if (which == 6)
        y = takt_add_scalar(c->g, takt_mul_scalar(c->g, y, first), second);
    if (y == TAKT_NONE)
        return y;
    const double low = which == 5 ? first : 0, high = which == 5 ? second : 1;
    y = takt_binary(c->g, &takt_op_max, y, takt_scalar_like(c->g, y, low));
    return y == TAKT_NONE ? y : takt_binary(c->g, &takt_op_min, y, takt_scalar_like(c->g, y, high));
}

static takt_status adapt(takt_call *c)
{
    takt_id y = takt_spatial_conv(c);
    if (takt_onnx_has(c, 3) && y != TAKT_NONE)
        y = takt_add(c->g, y, takt_onnx_in(c, 3));
    if (y != TAKT_NONE)
        y = activated(c, y);
    return c->status != TAKT_OK ? c->status : takt_onnx_done(c, y);
}

const takt_onnx_op takt_onnx_MsFusedConv = {
    .names = {"FusedConv"}, .domain = "com.microsoft", .adapt = adapt};
