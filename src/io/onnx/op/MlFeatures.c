/* MlFeatures.c - ai.onnx.ml: LabelEncoder on numbers, Imputer, FeatureVectorizer; ZipMap refused.
 */
#include "io/onnx/adapt.h"

/* The list `ints` or `floats` as a vector; TAKT_NONE if neither is there. */
static takt_id vector(takt_call *c, const char *ints, const char *floats)
{
    const takt_ints list = takt_onnx_ints(c, ints);
    const int64_t count = (int64_t)takt_onnx_attr_length(c, floats);
    if (list.count > 0)
        return takt_onnx_i64s(c, list.at, list.count);
    return count > 0 ? takt_onnx_attr_floats(c, floats, &count, 1) : TAKT_NONE;
}

/* a == b, with NaN equal to NaN. */
static takt_id equal(takt_call *c, takt_id a, takt_id b)
{
    const takt_id same = takt_binary(c->g, &takt_op_eq, a, b);
    if (same == TAKT_NONE || !takt_dtype_is_float(takt_type_of(c->g, a)->dtype))
        return same;
    const takt_id none = takt_binary(c->g, &takt_op_and, takt_unary(c->g, &takt_op_is_nan, a),
                                     takt_unary(c->g, &takt_op_is_nan, b));
    return none == TAKT_NONE ? none : takt_binary(c->g, &takt_op_or, same, none);
}

static takt_status encoder(takt_call *c, takt_id x)
{
    const takt_id keys = vector(c, "keys_int64s", "keys_floats");
    const takt_id values = vector(c, "values_int64s", "values_floats");
    const takt_type t = *takt_type_of(c->g, x);
    if (keys == TAKT_NONE || values == TAKT_NONE)
        return takt_onnx_refuse(c, "keys or values that are no lists of numbers");
    const takt_type k = *takt_type_of(c->g, keys), v = *takt_type_of(c->g, values);
    if (k.dim[0] != v.dim[0] || k.dtype != t.dtype)
        return takt_onnx_refuse(c, "%lld keys of %s with %lld values, for an input of %s",
                                (long long)k.dim[0], takt_dtype_name(k.dtype), (long long)v.dim[0],
                                takt_dtype_name(t.dtype));
    const takt_id hit = equal(c, takt_onnx_unsqueeze(c, x, t.rank), keys);
    const takt_id number = takt_onnx_cast(c, hit, TAKT_I32);
    const takt_named_attr attrs[] = {{"axis", takt_attr_i64(-1)}, {"keep", takt_attr_bool(false)}};
    const int64_t last = -1;
    const takt_id first = takt_onnx_op1(c, &takt_op_argmax, number, 2, attrs);
    if (first == TAKT_NONE)
        return takt_onnx_done(c, first);
    const takt_id any = takt_reduce_over(c->g, &takt_op_reduce_max, number, &last, 1, false);
    const takt_id other = v.dtype == TAKT_I64
                              ? takt_scalar_i64(c->g, takt_onnx_i(c, "default_int64", -1))
                              : takt_onnx_scalar(c, v.dtype, takt_onnx_f(c, "default_float", -0.0));
    const takt_id found = takt_onnx_gather(c, values, first, 0);
    if (found == TAKT_NONE || any == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    return takt_onnx_done(c, takt_select(c->g, takt_onnx_cast(c, any, TAKT_BOOL), found, other));
}

static takt_status imputer(takt_call *c, takt_id x)
{
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    const bool is_float = takt_dtype_is_float(dtype);
    takt_id values = vector(c, "imputed_value_int64s", "imputed_value_floats");
    const takt_id gone =
        is_float ? takt_onnx_scalar(c, dtype, takt_onnx_f(c, "replaced_value_float", 0))
                 : takt_onnx_cast(
                       c, takt_scalar_i64(c->g, takt_onnx_i(c, "replaced_value_int64", 0)), dtype);
    if (values == TAKT_NONE)
        return takt_onnx_refuse(c, "there is nothing to put in");
    if (takt_dtype_is_float(takt_type_of(c->g, values)->dtype) != is_float)
        return takt_onnx_refuse(c, "the input is %s, what to put in is not",
                                takt_dtype_name(dtype));
    values = takt_onnx_cast(c, values, dtype);
    const takt_id hit = equal(c, x, gone);
    return takt_onnx_done(c, hit == TAKT_NONE ? hit : takt_select(c->g, hit, values, x));
}

/* Input `i` as f32 [rows, width]: cut, or filled up with 0. */
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

static takt_status vectorizer(takt_call *c)
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

static takt_status adapt(takt_call *c)
{
    const takt_span op = c->node->op;
    if (takt_span_is(op, "ZipMap")) {
        (void)takt_onnx_refuse(c, "its result is a list of dictionaries, which Takt does not have");
        return takt_fail_hint(c->ctx, "drop the ZipMap: options={'zipmap': False}");
    }
    const takt_id x = takt_onnx_in(c, 0);
    if (x == TAKT_NONE)
        return takt_onnx_refuse(c, "the input is missing");
    if (takt_span_is(op, "FeatureVectorizer"))
        return vectorizer(c);
    return takt_span_is(op, "Imputer") ? imputer(c, x) : encoder(c, x);
}

const takt_onnx_op takt_onnx_MlFeatures = {
    .names = {"LabelEncoder", "Imputer", "FeatureVectorizer", "ZipMap"},
    .domain = "ai.onnx.ml",
    .adapt = adapt};
