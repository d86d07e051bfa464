/* GlobalLpPool.c - GlobalLpPool: the p-norm over all positions. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const int rank = takt_onnx_type(c, 0)->rank;
    const double p = (double)takt_onnx_i(c, "p", 2);
    int64_t axes[TAKT_MAX_RANK];
    if (c->status != TAKT_OK)
        return c->status;
    for (int i = 2; i < rank; i++)
        axes[i - 2] = i;
    takt_id y = takt_binary(c->g, &takt_op_pow, takt_unary(c->g, &takt_op_abs, x),
                            takt_scalar_like(c->g, x, p));
    y = takt_reduce_over(c->g, &takt_op_reduce_sum, y, axes, rank > 2 ? (size_t)rank - 2 : 0, true);
    return takt_onnx_done(
        c,
        y == TAKT_NONE ? y : takt_binary(c->g, &takt_op_pow, y, takt_scalar_like(c->g, y, 1 / p)));
}

const takt_onnx_op takt_onnx_GlobalLpPool = {.names = {"GlobalLpPool"}, .adapt = adapt};
