/* Loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */
#include "io/onnx/adapt.h"

/* -weight[target] * logp[target], and the weights; classes are axis 1. */
static takt_status loss(takt_call *c, takt_id logp, takt_id target, size_t weight_input)
{
    static const char *const ways[] = {"none", "mean", "sum", NULL};
    takt_graph *g = c->g;
    const int way = takt_onnx_choice(c, "reduction", "mean", ways);
    const takt_pb_attr *ignore = takt_onnx_attr(c, "ignore_index");
    if (logp == TAKT_NONE || target == TAKT_NONE || c->status != TAKT_OK)
        return takt_onnx_refuse(c, "an input is missing");
    const takt_dtype dtype = takt_type_of(g, logp)->dtype;
    takt_id weight = TAKT_NONE, ignored = TAKT_NONE, safe = target;
    if (ignore != NULL) {
        const takt_id which =
            takt_onnx_scalar(c, takt_type_of(g, target)->dtype, (double)ignore->i);
        ignored = takt_binary(g, &takt_op_eq, target, which);
        safe = takt_select(g, ignored, takt_scalar_like(g, target, 0), target);
    }
    if (takt_onnx_has(c, weight_input))
        weight = takt_onnx_gather(c, takt_onnx_in(c, weight_input), safe, 0);
    else if (ignored != TAKT_NONE || way == 1)
        weight =
            takt_broadcast_like(g, takt_onnx_scalar(c, dtype, 1), takt_onnx_cast(c, safe, dtype));
    if (ignored != TAKT_NONE)
        weight = takt_select(g, ignored, takt_onnx_scalar(c, dtype, 0), weight);
    takt_id y = takt_onnx_op2(c, &takt_op_gather_elements, logp, takt_onnx_unsqueeze(c, safe, 1), 1,
                              &(takt_named_attr){"axis", takt_attr_i64(1)});
    y = takt_neg(g, takt_onnx_squeeze(c, y, 1));
    if (weight != TAKT_NONE)
        y = takt_mul(g, y, weight);
    if (way != 0)
        y = takt_reduce_over(g, &takt_op_reduce_sum, y, NULL, 0, false);
    if (way == 1)
        y = takt_div(g, y, takt_reduce_over(g, &takt_op_reduce_sum, weight, NULL, 0, false));
    return takt_onnx_done(c, y);
}

static takt_status adapt(takt_call *c)
{
    takt_id x = takt_onnx_in(c, 0);
    if (takt_span_is(c->node->op, "SoftmaxCrossEntropyLoss")) {
        x = takt_onnx_op1(c, &takt_op_log_softmax, x, 1,
                          &(takt_named_attr){"axis", takt_attr_i64(1)});
        takt_onnx_set(c, 1, x);
    }
    return loss(c, x, takt_onnx_in(c, 1), 2);
}

const takt_onnx_op takt_onnx_Loss = {
    .names = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}, .adapt = adapt};
