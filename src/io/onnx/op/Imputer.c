/* Imputer.c - ai.onnx.ml Imputer: one value replaced by others. */
#include "io/onnx/ml.h"

/* x == the replaced value, which may be NaN. */
static takt_id is_gone(takt_call *c, takt_id x, takt_dtype dtype)
{
    if (!takt_dtype_is_float(dtype))
        return takt_binary(
            c->g, &takt_op_eq, x,
            takt_onnx_cast(c, takt_scalar_i64(c->g, takt_onnx_i(c, "replaced_value_int64", 0)),
                           dtype));
    const double gone = takt_onnx_f(c, "replaced_value_float", 0);
    return gone != gone ? takt_unary(c->g, &takt_op_is_nan, x)
                        : takt_binary(c->g, &takt_op_eq, x, takt_onnx_scalar(c, dtype, gone));
}

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    if (x == TAKT_NONE)
        return takt_onnx_refuse(c, "the input is missing");
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    const takt_ints ints = takt_onnx_ints(c, "imputed_value_int64s");
    const int64_t floats = (int64_t)takt_onnx_attr_length(c, "imputed_value_floats");
    if (c->status != TAKT_OK)
        return c->status;
    if (ints.count == 0 && floats == 0)
        return takt_onnx_refuse(c, "there is nothing to put in");
    if (takt_dtype_is_float(dtype) != (ints.count == 0))
        return takt_onnx_refuse(c, "the input is %s, what to put in is not",
                                takt_dtype_name(dtype));
    const takt_id values = ints.count > 0
                               ? takt_onnx_i64s(c, ints.at, ints.count)
                               : takt_onnx_attr_floats(c, "imputed_value_floats", &floats, 1);
    const takt_id hit = is_gone(c, x, dtype);
    if (hit == TAKT_NONE || values == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    return takt_onnx_done(c, takt_select(c->g, hit, takt_onnx_cast(c, values, dtype), x));
}

const takt_onnx_op takt_onnx_Imputer = {
    .names = {"Imputer"}, .domain = "ai.onnx.ml", .adapt = adapt};
