/* Variadic.c - Min, Max, Sum and Mean of any number of inputs. */
#include "io/onnx/adapt.h"

static takt_status adapt(takt_call *c)
{
    const takt_op *op = takt_span_is(c->node->op, "Min")   ? &takt_op_min
                        : takt_span_is(c->node->op, "Max") ? &takt_op_max
                                                           : &takt_op_add;
    takt_id sum = takt_onnx_in(c, 0);
    for (size_t i = 1; i < c->in_count; i++)
        sum = takt_binary(c->g, op, sum, takt_onnx_in(c, i));
    if (takt_span_is(c->node->op, "Mean") && sum != TAKT_NONE)
        sum = takt_div(c->g, sum, takt_scalar_like(c->g, sum, (double)c->in_count));
    return takt_onnx_done(c, sum);
}

const takt_onnx_op takt_onnx_Variadic = {.names = {"Min", "Max", "Sum", "Mean"}, .adapt = adapt};
