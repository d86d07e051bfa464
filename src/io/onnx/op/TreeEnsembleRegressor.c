/* TreeEnsembleRegressor.c - ai.onnx.ml TreeEnsembleRegressor. */
#include "io/onnx/forest.h"

/* base_values are one for each target, or none. */
static takt_id with_base(takt_forest *f, takt_id y)
{
    const takt_numbers base = takt_ml_numbers(f->c, "base_values", "base_values_as_tensor");
    if (base.count == 0 || y == TAKT_NONE)
        return y;
    if (base.count != f->targets) {
        (void)takt_onnx_refuse(f->c, "%zu base_values for %zu targets", base.count, f->targets);
        return TAKT_NONE;
    }
    const int64_t count = (int64_t)base.count;
    return takt_add(f->c->g, y, takt_onnx_floats(f->c, f->dtype, base.at, &count, 1));
}

static takt_status adapt(takt_call *c)
{
    static const char *const ways[] = {"AVERAGE", "SUM", "MIN", "MAX", NULL};
    const int how = takt_onnx_choice(c, "aggregate_function", "SUM", ways);
    const takt_ml_post post = takt_ml_post_of(c);
    const int64_t targets = takt_onnx_i(c, "n_targets", 1);
    const takt_dtype dtype = takt_onnx_type(c, 0)->dtype == TAKT_F64 ? TAKT_F64 : TAKT_F32;
    takt_forest f = {.c = c,
                     .x = takt_ml_rows(c, dtype),
                     .dtype = dtype,
                     .targets = targets > 0 ? (size_t)targets : 0};
    if (c->status != TAKT_OK)
        return c->status;
    TAKT_TRY(takt_forest_read_nodes(&f, "target"));
    const takt_id y = takt_onnx_cast(c, with_base(&f, takt_forest_scores(&f, how, 0)), TAKT_F32);
    return takt_onnx_done(c, f.targets == 1 ? takt_ml_transform_one(c, y, post)
                                            : takt_ml_transform(c, y, post));
}

const takt_onnx_op takt_onnx_TreeEnsembleRegressor = {
    .names = {"TreeEnsembleRegressor"}, .domain = "ai.onnx.ml", .adapt = adapt};
