/* LinearClassifier.c - ai.onnx.ml LinearClassifier. */
#include "io/onnx/ml.h"

/* x times the rows of coefficients, plus intercepts. */
static takt_id scores_of(takt_call *c, takt_id x, const int64_t *dims)
{
    const takt_id w = takt_onnx_attr_floats(c, "coefficients", dims, 2);
    const takt_id y = w == TAKT_NONE ? w : takt_matmul(c->g, x, w, false, true);
    if (takt_onnx_attr_length(c, "intercepts") == 0 || y == TAKT_NONE)
        return y;
    const takt_id b = takt_onnx_attr_floats(c, "intercepts", dims, 1);
    return b == TAKT_NONE ? b : takt_add(c->g, y, b);
}

static takt_status adapt(takt_call *c)
{
    const takt_ints labels = takt_ml_labels(c, "classlabels_ints", "classlabels_strings");
    const takt_ml_post post = takt_ml_post_of(c);
    const takt_id x = takt_ml_rows(c, TAKT_F32);
    if (c->status != TAKT_OK)
        return c->status;
    const takt_dim width = takt_type_of(c->g, x)->dim[1];
    const size_t count = takt_onnx_attr_length(c, "coefficients");
    if (labels.count < 2 || count == 0 || count % (size_t)width != 0)
        return takt_onnx_refuse(c, "%zu coefficients and %zu labels for %lld features", count,
                                labels.count, (long long)width);
    const int64_t dims[2] = {(int64_t)(count / (size_t)width), width};
    const bool is_one = dims[0] == 1;
    if (dims[0] != (int64_t)labels.count && !(is_one && labels.count == 2))
        return takt_onnx_refuse(c, "%lld rows of coefficients for %zu labels", (long long)dims[0],
                                labels.count);
    const takt_id y = scores_of(c, x, dims);
    takt_onnx_set(c, 1, is_one ? takt_ml_pair(c, y, post, false) : takt_ml_transform(c, y, post));
    const takt_id best = is_one ? takt_ml_above(c, y, 0) : takt_ml_best(c, y);
    return takt_onnx_done(c, takt_ml_named(c, labels, best));
}

const takt_onnx_op takt_onnx_LinearClassifier = {
    .names = {"LinearClassifier"}, .domain = "ai.onnx.ml", .adapt = adapt};
