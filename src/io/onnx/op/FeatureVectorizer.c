/* FeatureVectorizer.c - ai.onnx.ml FeatureVectorizer: concatenates its inputs. */
#include "io/onnx/adapt.h"

/* Input `i` as f32 [rows, width]: truncated, or padded with 0. */
static takt_id columns(takt_call *c, size_t i, int64_t width)
{
    const takt_type t = *takt_onnx_type(c, i);
    takt_id x = takt_onnx_cast(c, takt_onnx_in(c, i), TAKT_F32);
    if (c->status != TAKT_OK)
        return TAKT_NONE;
    if (t.rank != 2 || !takt_dim_is_number(t.dim[1])) {
        (void)takt_onnx_refuse(c, "input %zu has rank %d, or a width that is not known", i, t.rank);
        return TAKT_NONE;
    }
    if (width < t.dim[1])
        return takt_slice(c->g, x, 1, 0, width, 1);
    if (width == t.dim[1])
        return x;
    const takt_named_attr attrs[] = {
        {"before", takt_attr_i64s((int64_t[]){0, 0}, 2)},
        {"after", takt_attr_shape((takt_dim[]){0, width - t.dim[1]}, 2)},
        {"value", takt_attr_f64(0)}};
    return takt_onnx_op1(c, &takt_op_pad, x, 3, attrs);
}

static takt_status adapt(takt_call *c)
{
    const takt_ints widths = takt_onnx_ints(c, "inputdimensions");
    takt_id *parts = takt_onnx_get(c, c->in_count, sizeof *parts);
    if (parts == NULL)
        return c->status;
    if (c->in_count == 0 || widths.count != c->in_count)
        return takt_onnx_refuse(c, "%zu inputdimensions for %zu inputs", widths.count, c->in_count);
    for (size_t i = 0; i < c->in_count; i++) {
        if (widths.at[i] < 1 || widths.at[i] > INT32_MAX)
            return takt_onnx_refuse(c, "a width of %lld", (long long)widths.at[i]);
        parts[i] = columns(c, i, widths.at[i]);
        if (parts[i] == TAKT_NONE)
            return takt_onnx_done(c, TAKT_NONE);
    }
    return takt_onnx_done(c, takt_concat(c->g, parts, c->in_count, 1));
}

const takt_onnx_op takt_onnx_FeatureVectorizer = {
    .names = {"FeatureVectorizer"}, .domain = "ai.onnx.ml", .adapt = adapt};
