/* Small.c - one-line operators: Swish, SwiGLU, BitShift, BitCast, IsInf, DepthToSpace, Scatter,
 * and Erfc, which ONNX does not have: tf2onnx writes it for TensorFlow's and Keras' GELU. */
#include "io/onnx/adapt.h"
#include "op/record/depth_to_space.h"
#include "op/record/silu.h"

static takt_id swish(takt_call *c, takt_id x)
{
    const double alpha = takt_onnx_f(c, "alpha", 1);
    if (alpha == 1 || x == TAKT_NONE)
        return takt_unary(c->g, &takt_op_silu, x);
    return takt_mul(c->g, x, takt_unary(c->g, &takt_op_sigmoid, takt_mul_scalar(c->g, x, alpha)));
}

static takt_id is_infinite(takt_call *c, takt_id x)
{
    const bool below = takt_onnx_i(c, "detect_negative", 1) != 0,
               above = takt_onnx_i(c, "detect_positive", 1) != 0;
    takt_id y = takt_unary(c->g, &takt_op_is_inf, x);
    if (y == TAKT_NONE || (below && above))
        return y;
    if (!below && !above)
        return takt_binary(c->g, &takt_op_xor, y, y);
    const takt_id zero = takt_scalar_like(c->g, x, 0);
    return takt_binary(c->g, &takt_op_and, y,
                       below ? takt_binary(c->g, &takt_op_lt, x, zero)
                             : takt_binary(c->g, &takt_op_lt, zero, x));
}

static takt_id blocks(takt_call *c, takt_id x)
{
    static const char *const modes[] = {"DCR", "CRD", NULL};
    const takt_named_attr attrs[] = {
        {"block", takt_attr_i64(takt_onnx_i(c, "blocksize", 1))},
        {"mode", takt_attr_i64(takt_onnx_choice(c, "mode", "DCR", modes))}};
    return takt_onnx_op1(c, &takt_op_depth_to_space, x, 2, attrs);
}

static takt_status adapt(takt_call *c)
{
    const takt_span op = c->node->op;
    const takt_id x = takt_onnx_in(c, 0), y = takt_onnx_in(c, 1);
    if (takt_span_is(op, "Swish"))
        return takt_onnx_done(c, swish(c, x));
    if (takt_span_is(op, "Erfc")) /* 1 - erf(x), as a sum that GELU is recognised by */
        return takt_onnx_done(
            c, takt_add_scalar(
                   c->g, takt_unary(c->g, &takt_op_erf, takt_unary(c->g, &takt_op_neg, x)), 1));
    if (takt_span_is(op, "SwiGLU"))
        return takt_onnx_done(c, takt_mul(c->g, swish(c, x), y));
    if (takt_span_is(op, "BitShift"))
        return takt_onnx_done(
            c, takt_binary(c->g,
                           takt_onnx_is(c, "direction", "", "LEFT") ? &takt_op_shl : &takt_op_shr,
                           x, y));
    if (takt_span_is(op, "BitCast")) {
        const takt_dtype to = takt_onnx_to(c, "to", TAKT_F32);
        return takt_onnx_done(c, takt_onnx_op1(c, &takt_op_bitcast, x, 1,
                                               &(takt_named_attr){"dtype", takt_attr_dtype(to)}));
    }
    if (takt_span_is(op, "IsInf"))
        return takt_onnx_done(c, is_infinite(c, x));
    if (takt_span_is(op, "DepthToSpace"))
        return takt_onnx_done(c, blocks(c, x));
    const takt_named_attr axis = {"axis", takt_attr_i64(takt_onnx_i(c, "axis", 0))};
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_scatter_elements, 3,
                                             (takt_id[]){x, y, takt_onnx_in(c, 2)}, 1, &axis));
}

const takt_onnx_op takt_onnx_Small = {
    .names = {"Erfc", "Swish", "SwiGLU", "BitShift", "BitCast", "IsInf", "DepthToSpace", "Scatter"},
    .adapt = adapt};
