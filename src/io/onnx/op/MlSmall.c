/* MlSmall.c - ai.onnx.ml: Binarizer, ArrayFeatureExtractor, Scaler, Normalizer, LinearRegressor. */
#include "io/onnx/ml.h"

static takt_status scaler(takt_call *c, takt_id x)
{
    const int64_t offsets = (int64_t)takt_onnx_attr_length(c, "offset"),
                  scales = (int64_t)takt_onnx_attr_length(c, "scale");
    if (offsets > 0)
        x = takt_sub(c->g, x, takt_onnx_attr_floats(c, "offset", &offsets, 1));
    if (scales > 0)
        x = takt_mul(c->g, x, takt_onnx_attr_floats(c, "scale", &scales, 1));
    return takt_onnx_done(c, x);
}

static takt_status normalizer(takt_call *c, takt_id x)
{
    static const char *const norms[] = {"MAX", "L1", "L2", NULL};
    const int which = takt_onnx_choice(c, "norm", "MAX", norms);
    const int64_t last = -1;
    const takt_op *op = which == 0   ? &takt_op_reduce_max
                        : which == 1 ? &takt_op_reduce_l1
                                     : &takt_op_reduce_l2;
    if (x == TAKT_NONE)
        return takt_onnx_done(c, x);
    const takt_id norm = takt_reduce_over(c->g, op, x, &last, 1, true);
    /* A row of zeros stays zero. */
    const takt_id is_zero = takt_binary(c->g, &takt_op_eq, norm, takt_scalar_like(c->g, x, 0));
    const takt_id by = takt_select(c->g, is_zero, takt_scalar_like(c->g, x, 1), norm);
    return takt_onnx_done(c, takt_div(c->g, x, by));
}

/* Columns of x; indices may have any shape, and a vector is one row. */
static takt_status extractor(takt_call *c, takt_id x)
{
    const takt_id y = takt_onnx_gather(c, x, takt_ml_flat(c, takt_onnx_in(c, 1)), -1);
    return takt_onnx_done(c, takt_onnx_type(c, 0)->rank == 1 ? takt_onnx_unsqueeze(c, y, 0) : y);
}

static takt_status regressor(takt_call *c, takt_id x)
{
    const int64_t targets = takt_onnx_i(c, "targets", 1);
    const size_t count = takt_onnx_attr_length(c, "coefficients");
    if (targets < 1 || count % (size_t)targets != 0 || x == TAKT_NONE)
        return takt_onnx_refuse(c, "%zu coefficients for %lld targets", count, (long long)targets);
    const int64_t dims[2] = {targets, (int64_t)count / targets};
    takt_id y =
        takt_matmul(c->g, x, takt_onnx_attr_floats(c, "coefficients", dims, 2), false, true);
    if (takt_onnx_attr_length(c, "intercepts") > 0)
        y = takt_add(c->g, y, takt_onnx_attr_floats(c, "intercepts", &targets, 1));
    return takt_onnx_done(c, targets == 1 ? takt_ml_transform_one(c, y, takt_ml_post_of(c))
                                          : takt_ml_transform(c, y, takt_ml_post_of(c)));
}

static takt_status adapt(takt_call *c)
{
    const takt_span op = c->node->op;
    const takt_id x = takt_onnx_in(c, 0);
    if (x == TAKT_NONE)
        return takt_onnx_refuse(c, "the input is missing");
    if (takt_span_is(op, "ArrayFeatureExtractor"))
        return extractor(c, x);
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    if (takt_span_is(op, "Binarizer")) {
        const takt_id limit = takt_scalar_like(c->g, x, takt_onnx_f(c, "threshold", 0));
        return takt_onnx_done(c,
                              takt_onnx_cast(c, takt_binary(c->g, &takt_op_lt, limit, x), dtype));
    }
    const takt_id wide = takt_onnx_cast(c, x, TAKT_F32);
    if (takt_span_is(op, "Scaler"))
        return scaler(c, wide);
    return takt_span_is(op, "Normalizer") ? normalizer(c, wide) : regressor(c, wide);
}

const takt_onnx_op takt_onnx_MlSmall = {
    .names = {"Binarizer", "ArrayFeatureExtractor", "Scaler", "Normalizer", "LinearRegressor"},
    .domain = "ai.onnx.ml",
    .adapt = adapt};
