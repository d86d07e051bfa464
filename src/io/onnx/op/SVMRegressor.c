/* SVMRegressor.c - ai.onnx.ml SVMRegressor. Its single score is not transformed, as elsewhere. */
#include "io/onnx/svm.h"

static takt_status adapt(takt_call *c)
{
    const int64_t supports = takt_onnx_i(c, "n_supports", 0), one = 1;
    const size_t count =
        takt_onnx_attr_length(c, supports > 0 ? "support_vectors" : "coefficients");
    takt_svm k = {0};
    const takt_id x = takt_ml_rows(c, TAKT_F32);
    (void)takt_ml_post_of(c); /* refuses invalid values */
    if (!takt_svm_read(c, &k))
        return c->status;
    if (supports < 0 || count == 0 || (supports > 0 && count % (size_t)supports != 0))
        return takt_onnx_refuse(c, "%lld support vectors in %zu numbers", (long long)supports,
                                count);
    takt_id y = x;
    if (supports > 0) {
        const int64_t dims[2] = {supports, (int64_t)count / supports};
        y = takt_svm_apply(c, &k, x, takt_onnx_attr_floats(c, "support_vectors", dims, 2));
    }
    const int64_t column[2] = {supports > 0 ? supports : (int64_t)count, 1};
    const takt_id w = takt_onnx_attr_floats(c, "coefficients", column, 2);
    const takt_id rho = takt_onnx_attr_floats(c, "rho", &one, 1);
    if (y == TAKT_NONE || w == TAKT_NONE || rho == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    y = takt_add(c->g, takt_matmul(c->g, y, w, false, false), rho);
    if (y == TAKT_NONE || takt_onnx_i(c, "one_class", 0) == 0)
        return takt_onnx_done(c, y);
    const takt_id above = takt_binary(c->g, &takt_op_lt, takt_scalar_like(c->g, y, 0), y);
    return takt_onnx_done(
        c, takt_select(c->g, above, takt_scalar_like(c->g, y, 1), takt_scalar_like(c->g, y, -1)));
}

const takt_onnx_op takt_onnx_SVMRegressor = {
    .names = {"SVMRegressor"}, .domain = "ai.onnx.ml", .adapt = adapt};
