/* CausalConvWithState.c - a depthwise causal convolution that keeps its last inputs. */
#include "io/onnx/adapt.h"
#include "op/record/silu.h"

static takt_id activated(takt_call *c, takt_id y)
{
    static const char *const names[] = {"none", "silu", "swish", "", NULL};
    const int which = takt_onnx_choice(c, "activation", "none", names);
    return which == 1 || which == 2 ? takt_unary(c->g, &takt_op_silu, y) : y;
}

/* The input preceded by the state, or by zeros. */
static takt_id before(takt_call *c, takt_id in, int64_t keep)
{
    if (takt_onnx_has(c, 3))
        return takt_concat(c->g, (takt_id[]){takt_onnx_in(c, 3), in}, 2, 2);
    const int64_t zeros[] = {0, 0, keep};
    const takt_dim none[] = {0, 0, 0};
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(zeros, 3)},
                                     {"after", takt_attr_shape(none, 3)}};
    return takt_onnx_op1(c, &takt_op_pad, in, 2, attrs);
}

static takt_status adapt(takt_call *c)
{
    const takt_type x = *takt_onnx_type(c, 0), w = *takt_onnx_type(c, 1);
    takt_id in = takt_onnx_in(c, 0);
    if (c->status != TAKT_OK)
        return c->status;
    if (x.rank != 3 || w.rank != 3 || !takt_dim_is_number(w.dim[2]) || w.dim[2] < 1)
        return takt_onnx_refuse(c, "the input has rank %d", x.rank);
    const int64_t keep = w.dim[2] - 1;
    in = before(c, in, keep);
    takt_id y = takt_onnx_op2(c, &takt_op_conv, in, takt_onnx_in(c, 1), 1,
                              &(takt_named_attr){"groups", takt_attr_i64(x.dim[1])});
    if (takt_onnx_has(c, 2))
        y = takt_add(c->g, y, takt_onnx_channel(c, takt_onnx_in(c, 2), 3));
    takt_onnx_set(c, 0, activated(c, y));
    if (keep == 0)
        takt_onnx_set(c, 1, takt_slice(c->g, in, 2, 0, 0, 1));
    else
        takt_onnx_set(c, 1, takt_slice(c->g, in, 2, -keep, INT64_MAX, 1));
    return c->status;
}

const takt_onnx_op takt_onnx_CausalConvWithState = {.names = {"CausalConvWithState"},
                                                    .adapt = adapt};
