/* Relu.c - RELU, RELU6, RELU_N1_TO_1 and RELU_0_TO_1; bytes are also requantised to the result's
 * scale. */
#include "io/tflite/quant.h"

static takt_id floats(takt_tfl_call *c, takt_id x)
{
    if (takt_tfl_is(c, "RELU_0_TO_1"))
        return takt_tfl_clip(c, x, 0, 1);
    return takt_tfl_activate(c, x,
                             takt_tfl_is(c, "RELU")    ? TAKT_TFL_RELU
                             : takt_tfl_is(c, "RELU6") ? TAKT_TFL_RELU6
                                                       : TAKT_TFL_RELU_N1);
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    if (!takt_tfl_good(c))
        return c->status;
    if (!takt_tfl_is_quantised(tx))
        return takt_tfl_done(c, floats(c, x));
    const takt_tfl_quant a = takt_tfl_quant_of(c, tx), b = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    takt_tfl_range r = takt_tfl_range_of(dtype);
    if (!takt_tfl_good(c))
        return c->status;
    const bool is_plain = takt_tfl_is(c, "RELU");
    const float low = takt_tfl_is(c, "RELU_N1_TO_1") ? -1 : 0,
                high = takt_tfl_is(c, "RELU6") ? 6 : 1;
    const int32_t least = takt_tfl_level(b, low),
                  most = is_plain ? r.high : takt_tfl_level(b, high);
    r.low = least > r.low ? least : r.low;
    r.high = most < r.high ? most : r.high;
    const float real = a.scale / b.scale;
    return takt_tfl_done(c, takt_tfl_moved(c, x, a.zero, takt_tfl_fixed_of((double)real), ty, r));
}

const takt_tflite_op takt_tflite_Relu = {.names = {"RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"},
                                         .adapt = adapt};
