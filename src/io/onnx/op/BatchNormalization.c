/* BatchNormalization.c - BatchNormalization, also with the batch's own statistics. */
#include "io/onnx/adapt.h"

static takt_id blend(takt_call *c, takt_id old, takt_id new, double momentum)
{
    return takt_add(c->g, takt_mul_scalar(c->g, old, momentum),
                    takt_mul_scalar(c->g, takt_onnx_cast(c, new, takt_type_of(c->g, old)->dtype),
                                    1 - momentum));
}

/* Statistics of the batch over all axes but the channels. */
static takt_status measure(takt_call *c, takt_id x, takt_id *mean, takt_id *var)
{
    const int rank = takt_type_of(c->g, x)->rank;
    int64_t axes[TAKT_MAX_RANK] = {0};
    for (int i = 2; i < rank; i++)
        axes[i - 1] = i;
    const size_t count = (size_t)rank - 1;
    *mean = takt_reduce_over(c->g, &takt_op_reduce_mean, x, axes, count, false);
    *var = takt_reduce_over(c->g, &takt_op_reduce_var, x, axes, count, false);
    return *mean != TAKT_NONE && *var != TAKT_NONE ? TAKT_OK : takt_onnx_done(c, TAKT_NONE);
}

/* When training, the kept statistics follow those of the batch, if they are weights. */
static takt_status follow(takt_call *c, size_t input, takt_id next)
{
    const takt_id value = takt_onnx_in(c, input);
    if (c->g != c->im->main->g || value == TAKT_NONE || next == TAKT_NONE ||
        takt_node_at(c->g, value)->op != &takt_op_constant)
        return c->status;
    return takt_import_statistic(c->im, value, next);
}

static takt_status adapt(takt_call *c)
{
    takt_id in[5];
    const takt_type t = *takt_onnx_type(c, 0);
    const bool is_training = c->im->source->training && t.rank >= 2;
    const bool trains = takt_onnx_i(c, "training_mode", 0) != 0 || is_training;
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
        takt_id mean, var;
        TAKT_TRY(measure(c, in[0], &mean, &var));
        const takt_id next[2] = {blend(c, takt_onnx_in(c, 3), mean, momentum),
                                 blend(c, takt_onnx_in(c, 4), var, momentum)};
        for (size_t i = 0; i < 2; i++) {
            if (c->out_count > i + 1)
                takt_onnx_set(c, i + 1, next[i]);
            if (is_training)
                TAKT_TRY(follow(c, 3 + i, next[i]));
        }
        in[3] = mean;
        in[4] = var;
    }
    const takt_named_attr attr = {"epsilon", takt_attr_f64(takt_onnx_f(c, "epsilon", 1e-5f))};
    return takt_onnx_done(c, takt_graph_call(c->g, &takt_op_batch_norm, 5, in, 1, &attr));
}

const takt_onnx_op takt_onnx_BatchNormalization = {.names = {"BatchNormalization"}, .adapt = adapt};
