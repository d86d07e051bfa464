/* Pow.c - Pow: the exponent's type may differ from the base's. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    takt_id a = takt_onnx_in(c, 0), b = takt_onnx_in(c, 1);
    const takt_dtype base = takt_onnx_type(c, 0)->dtype, power = takt_onnx_type(c, 1)->dtype;
    if (c->status != TAKT_OK)
        return c->status;
    if (takt_dtype_is_float(power) && !takt_dtype_is_float(base)) {
        const takt_id y = takt_binary(c->g, &takt_op_pow, takt_onnx_cast(c, a, power), b);
        return takt_onnx_done(c, takt_onnx_cast(c, y, base));
    }
    return takt_onnx_done(c, takt_binary(c->g, &takt_op_pow, a, takt_onnx_cast(c, b, base)));
}

const takt_onnx_op takt_onnx_Pow = {.names = {"Pow"}, .adapt = adapt};
