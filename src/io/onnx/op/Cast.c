/* Cast.c - Cast and CastLike. */
#include "io/onnx/adapt.h"

/* Floats become narrow integers via i32, keeping its low bits: ONNX wraps where Takt saturates. */
static takt_id narrow(takt_call *c, takt_id x, takt_dtype from, takt_dtype to)
{
    const bool is_narrow = to == TAKT_I4 || to == TAKT_U4 || to == TAKT_I2 || to == TAKT_U2;
    return is_narrow && takt_dtype_is_float(from) ? takt_onnx_cast(c, x, TAKT_I32) : x;
}

/* The f8 types without infinity: infinities become the largest number. */
static takt_id bound(takt_call *c, takt_id x, takt_dtype to)
{
    const double top = to == TAKT_F8E4M3FNUZ ? 240 : to == TAKT_F8E5M2FNUZ ? 57344 : 0;
    if (top == 0 || !takt_dtype_is_float(takt_type_of(c->g, x)->dtype) ||
        takt_dtype_bits(takt_type_of(c->g, x)->dtype) < 16)
        return x;
    x = takt_binary(c->g, &takt_op_min, x, takt_scalar_like(c->g, x, top));
    return takt_binary(c->g, &takt_op_max, x, takt_scalar_like(c->g, x, -top));
}

/* Powers of two by round_mode: up and down clear or fill the fraction of f32's bits. */
static takt_id power(takt_call *c, takt_id x)
{
    static const char *const modes[] = {"up", "down", "nearest", NULL};
    const takt_named_attr bits = {"dtype", takt_attr_dtype(TAKT_U32)};
    const takt_named_attr value = {"dtype", takt_attr_dtype(TAKT_F32)};
    const int mode = takt_onnx_choice(c, "round_mode", "up", modes);
    if (c->status != TAKT_OK || mode == 2)
        return x;
    takt_id u = takt_onnx_op1(c, &takt_op_bitcast, takt_onnx_cast(c, x, TAKT_F32), 1, &bits);
    if (mode == 0)
        u = takt_add(c->g, u, takt_onnx_scalar(c, TAKT_U32, 0x7fffff));
    const takt_id is_finite = takt_unary(c->g, &takt_op_not, takt_unary(c->g, &takt_op_is_nan, x));
    u = takt_binary(c->g, &takt_op_and, u, takt_onnx_scalar(c, TAKT_U32, 0xff800000));
    const takt_id rounded = takt_onnx_op1(c, &takt_op_bitcast, u, 1, &value);
    return takt_select(c->g, is_finite, rounded, takt_onnx_cast(c, x, TAKT_F32));
}

static takt_status adapt(takt_call *c)
{
    const bool like = takt_span_is(c->node->op, "CastLike");
    const takt_dtype from = takt_onnx_type(c, 0)->dtype;
    const takt_dtype to =
        like ? takt_onnx_type(c, 1)->dtype : takt_onnx_to(c, "to", TAKT_DTYPE_COUNT);
    const bool saturate = takt_onnx_i(c, "saturate", 1) != 0;
    takt_id x = takt_onnx_in(c, 0);
    if (c->status == TAKT_OK && to == TAKT_DTYPE_COUNT)
        return takt_onnx_refuse(c, "the target type is missing");
    if (c->status != TAKT_OK)
        return c->status;
    x = narrow(c, x, from, to);
    if (to == TAKT_F8E8M0 && takt_dtype_is_float(from))
        x = power(c, x);
    if (saturate)
        x = bound(c, x, to);
    const takt_named_attr attrs[] = {{"dtype", takt_attr_dtype(to)},
                                     {"saturate", takt_attr_bool(saturate)}};
    return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_cast, x, 2, attrs));
}

const takt_onnx_op takt_onnx_Cast = {.names = {"Cast", "CastLike"}, .adapt = adapt};
