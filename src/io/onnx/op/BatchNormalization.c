/* BatchNormalization.c - BatchNormalization, also with the batch's own statistics. */
#include "io/onnx/adapt.h"

static takt_id blend(takt_call *c, takt_id old, takt_id new, double momentum)
{
    return takt_add(c->g, takt_mul_scalar(c->g, old, momentum),
                    takt_mul_scalar(c->g, takt_onnx_cast(c, new, takt_type_of(c->g, old)->dtype),
                                    1 - momentum));
}

static takt_status adapt(takt_call *c)
{
    takt_id in[5];
    const takt_type t = *takt_onnx_type(c, 0);
    const bool trains = takt_onnx_i(c, "training_mode", 0) != 0;
    const double momentum = takt_onnx_f(c, "momentum", 0.9f);
    for (size_t i = 0; i < 5; i++)
        in[i] = takt_onnx_cast(c, takt_onnx_in(c, i), t.dtype);
    if (c->status != TAKT_OK)
        return c->status;
    if (c->opset < 9 && takt_onnx_i(c, "spatial", 1) == 0)
        return takt_onnx_refuse(c, "spatial is 0");
    if (trains && t.rank < 2)
        return takt_onnx_refuse(c, "the input has no channels");
    if (trains) {
        int64_t axes[TAKT_MAX_RANK] = {0};
        for (int i = 2; i < t.rank; i++)
            axes[i - 1] = i;
        const size_t count = (size_t)t.rank - 1;
        const takt_id mean =
            takt_reduce_over(c->g, &takt_op_reduce_mean, in[0], axes, count, false);
        const takt_id var = takt_reduce_over(c->g, &takt_op_reduce_var, in[0], axes, count, false);
        if (mean == TAKT_NONE || var == TAKT_NONE)
            return takt_onnx_done(c, TAKT_NONE);
        takt_onnx_set(c, 1, blend(c, takt_onnx_in(c, 3), mean, momentum));
        takt_onnx_set(c, 2, blend(c, takt_onnx_in(c, 4), var, momentum));
        in[3] = mean;
        in[4] = var;
    }
    const takt_named_attr attr = {"epsilon", takt_attr_f64(takt_onnx_f(c, "epsilon", 1e-5f))};
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_batch_norm, 5, in, 1, &attr));
}

const takt_onnx_op takt_onnx_BatchNormalization = {.names = {"BatchNormalization"}, .adapt = adapt};
