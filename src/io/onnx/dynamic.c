/* dynamic.c - quantises floats to bytes with a scale found at run time. */
#include "io/onnx/adapt.h"
#include "op/util/integer.h"

/* The range of x, extended to include 0, in 255 steps. */
takt_id takt_onnx_dynamic(takt_graph *g, takt_id x, takt_id *to_scale, takt_id *to_zero)
{
    takt_id low = takt_reduce_over(g, &takt_op_reduce_min, x, NULL, 0, false);
    takt_id high = takt_reduce_over(g, &takt_op_reduce_max, x, NULL, 0, false);
    if (low == TAKT_NONE || high == TAKT_NONE)
        return TAKT_NONE;
    const takt_id zero = takt_scalar_like(g, low, 0), most = takt_scalar_like(g, low, 255);
    low = takt_binary(g, &takt_op_min, low, zero);
    high = takt_binary(g, &takt_op_max, high, zero);
    const takt_id scale = takt_div(g, takt_sub(g, high, low), most);
    takt_id point = takt_unary(g, &takt_op_round, takt_neg(g, takt_div(g, low, scale)));
    point = takt_binary(g, &takt_op_min, takt_binary(g, &takt_op_max, point, zero), most);
    if (point == TAKT_NONE)
        return point;
    *to_scale = scale;
    *to_zero = takt_cast(g, point, TAKT_U8);
    const takt_named_attr attr = {"dtype", takt_attr_dtype(TAKT_U8)};
    return takt_graph_call(g, &takt_op_quantize, 3, (takt_id[]){x, scale, *to_zero}, 1, &attr);
}

takt_id takt_onnx_dynamic_matmul(takt_graph *g, takt_id x, const takt_bytes_matrix *w)
{
    takt_id in[TAKT_INTEGER_SCALE + 1] = {TAKT_NONE, w->q,      TAKT_NONE,
                                          w->zero,   TAKT_NONE, TAKT_NONE};
    takt_id scale = TAKT_NONE;
    in[TAKT_INTEGER_A] = takt_onnx_dynamic(g, x, &scale, &in[TAKT_INTEGER_A_ZERO]);
    if (in[TAKT_INTEGER_A] == TAKT_NONE)
        return TAKT_NONE;
    in[TAKT_INTEGER_SCALE] = takt_mul(g, scale, w->scale);
    return takt_graph_call(g, &takt_op_integer_matmul, TAKT_INTEGER_SCALE + 1, in, 0, NULL);
}
