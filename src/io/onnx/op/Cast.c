/* Cast.c - Cast and CastLike. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const bool like = takt_span_is(c->node->op, "CastLike");
    const takt_dtype to =
        like ? takt_onnx_type(c, 1)->dtype : takt_onnx_to(c, "to", TAKT_DTYPE_COUNT);
    if (c->status == TAKT_OK && to == TAKT_DTYPE_COUNT)
        return takt_onnx_refuse(c, "the target type is missing");
    const takt_named_attr attrs[] = {
        {"dtype", takt_attr_dtype(to)},
        {"saturate", takt_attr_bool(takt_onnx_i(c, "saturate", 1) != 0)}};
    if (c->status != TAKT_OK)
        return c->status;
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_cast, takt_onnx_in(c, 0), 2, attrs));
}

const takt_onnx_op takt_onnx_Cast = {.names = {"Cast", "CastLike"}, .adapt = adapt};
