/* GroupNormalization.c - GroupNormalization: scale and bias per group before opset 21. */
#include "io/onnx/adapt.h"

/* [groups] to [channels]: repeats each group's number for all its channels. */
static takt_id per_channel(takt_call *c, takt_id p, takt_dim channels)
{
    const takt_dim groups = takt_type_of(c->g, p)->dim[0];
    if (groups == channels || groups < 1 || !takt_dim_is_number(channels))
        return p;
    const takt_id column = takt_reshape(c->g, p, (takt_dim[]){groups, 1}, 2);
    const takt_id all = takt_broadcast(c->g, column, (takt_dim[]){groups, channels / groups}, 2);
    return takt_reshape(c->g, all, &channels, 1);
}

static takt_status adapt(takt_call *c)
{
    const takt_type t = *takt_onnx_type(c, 0);
    takt_id in[3] = {takt_onnx_in(c, 0), takt_onnx_in(c, 1), takt_onnx_in(c, 2)};
    const takt_named_attr attrs[] = {{"groups", takt_attr_i64(takt_onnx_i(c, "num_groups", 1))},
                                     {"epsilon", takt_attr_f64(takt_onnx_f(c, "epsilon", 1e-5f))}};
    if (c->status != TAKT_OK || in[1] == TAKT_NONE || in[2] == TAKT_NONE || t.rank < 2)
        return takt_onnx_refuse(c, "an input is missing");
    in[1] = per_channel(c, in[1], t.dim[1]);
    in[2] = per_channel(c, in[2], t.dim[1]);
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_group_norm, 3, in, 2, attrs));
}

const takt_onnx_op takt_onnx_GroupNormalization = {.names = {"GroupNormalization"}, .adapt = adapt};
