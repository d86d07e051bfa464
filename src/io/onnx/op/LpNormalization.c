/* LpNormalization.c - LpNormalization and MeanVarianceNormalization. */
#include "io/onnx/adapt.h"

static takt_status lp(takt_call *c)
{
    const takt_id x = takt_onnx_in(c, 0);
    const int64_t axis = takt_onnx_i(c, "axis", -1), p = takt_onnx_i(c, "p", 2);
    if (p != 1 && p != 2)
        return takt_onnx_refuse(c, "p is %lld, not 1 or 2", (long long)p);
    const takt_op *op = p == 1 ? &takt_op_reduce_l1 : &takt_op_reduce_l2;
    const takt_id norm = takt_reduce_over(c->g, op, x, &axis, 1, true);
    if (norm == TAKT_NONE)
        return takt_onnx_done(c, norm);
    /* A row of zeros stays zero. */
    const takt_id zero = takt_scalar_like(c->g, norm, 0), one = takt_scalar_like(c->g, norm, 1);
    const takt_id is_zero = takt_binary(c->g, &takt_op_eq, norm, zero);
    return takt_onnx_done(c, takt_div(c->g, x, takt_select(c->g, is_zero, one, norm)));
}

static takt_status mean_variance(takt_call *c)
{
    static const int64_t usual[] = {0, 2, 3};
    const takt_ints given = takt_onnx_ints(c, "axes");
    const int64_t *axes = given.is_set ? given.at : usual;
    const size_t count = given.is_set ? given.count : 3;
    const takt_id x = takt_onnx_in(c, 0);
    const takt_id mean = takt_reduce_over(c->g, &takt_op_reduce_mean, x, axes, count, true);
    const takt_id var = takt_reduce_over(c->g, &takt_op_reduce_var, x, axes, count, true);
    if (mean == TAKT_NONE || var == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    const takt_id deviation = takt_add_scalar(c->g, takt_unary(c->g, &takt_op_sqrt, var), 1e-9);
    return takt_onnx_done(c, takt_div(c->g, takt_sub(c->g, x, mean), deviation));
}

static takt_status adapt(takt_call *c)
{
    return takt_span_is(c->node->op, "LpNormalization") ? lp(c) : mean_variance(c);
}

const takt_onnx_op takt_onnx_LpNormalization = {
    .names = {"LpNormalization", "MeanVarianceNormalization"}, .adapt = adapt};
