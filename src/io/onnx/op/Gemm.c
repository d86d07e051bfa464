/* Gemm.c - Gemm: alpha * A' B' + beta * C. */
#include "io/onnx/adapt.h"

static takt_id scaled(takt_call *c, takt_id x, double factor)
{
    return factor == 1 || x == TAKT_NONE ? x : takt_mul_scalar(c->g, x, factor);
}

static takt_status adapt(takt_call *c)
{
    const bool ta = takt_onnx_i(c, "transA", 0) != 0, tb = takt_onnx_i(c, "transB", 0) != 0;
    takt_id y = takt_matmul(c->g, takt_onnx_in(c, 0), takt_onnx_in(c, 1), ta, tb);
    y = scaled(c, y, takt_onnx_f(c, "alpha", 1));
    if (takt_onnx_has(c, 2))
        y = takt_add(c->g, y, scaled(c, takt_onnx_in(c, 2), takt_onnx_f(c, "beta", 1)));
    return takt_onnx_done(c, y);
}

const takt_onnx_op takt_onnx_Gemm = {.names = {"Gemm"}, .adapt = adapt};
