/* LabelEncoder.c - ai.onnx.ml LabelEncoder and OneHotEncoder for numbers. */
#include "io/onnx/ml.h"

static bool has_strings(takt_call *c, const char *name)
{
    const takt_pb_attr *a = takt_onnx_attr(c, name);
    return a != NULL && a->string_count > 0;
}

/* The list NAME_int64s or NAME_floats, or NAME_tensor, as a vector; TAKT_NONE if all are absent. */
static takt_id vector(takt_call *c, const char *ints, const char *floats, const char *tensor)
{
    const takt_ints list = takt_onnx_ints(c, ints);
    const int64_t count = (int64_t)takt_onnx_attr_length(c, floats);
    if (list.count > 0)
        return takt_onnx_i64s(c, list.at, list.count);
    if (count > 0)
        return takt_onnx_attr_floats(c, floats, &count, 1);
    return takt_ml_flat(c, takt_ml_tensor(c, tensor));
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

/* The default for keys that are not listed. */
static takt_id default_of(takt_call *c, takt_dtype dtype)
{
    const takt_id tensor = takt_ml_tensor(c, "default_tensor");
    if (tensor != TAKT_NONE)
        return takt_onnx_cast(c, takt_onnx_shape(c, tensor, NULL, 0), dtype);
    if (takt_dtype_is_float(dtype))
        return takt_onnx_scalar(c, dtype, takt_onnx_f(c, "default_float", -0.0));
    return takt_onnx_cast(c, takt_scalar_i64(c->g, takt_onnx_i(c, "default_int64", -1)), dtype);
}

static takt_status encoder(takt_call *c, takt_id x)
{
    const takt_id keys = vector(c, "keys_int64s", "keys_floats", "keys_tensor");
    const takt_id values = vector(c, "values_int64s", "values_floats", "values_tensor");
    const takt_type t = *takt_type_of(c->g, x);
    if (c->status != TAKT_OK)
        return c->status;
    if (keys == TAKT_NONE || values == TAKT_NONE)
        return takt_onnx_refuse(c, "keys or values that are not lists of numbers");
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
    const takt_id found = takt_onnx_gather(c, values, first, 0), other = default_of(c, v.dtype);
    if (found == TAKT_NONE || any == TAKT_NONE || other == TAKT_NONE)
        return takt_onnx_done(c, TAKT_NONE);
    return takt_onnx_done(c, takt_select(c->g, takt_onnx_cast(c, any, TAKT_BOOL), found, other));
}

/* A value that is not a category gives a row of zeros, even where `zeros` is 0 and the standard
 * requires an error: values of inputs cannot make a run fail. */
static takt_status one_hot(takt_call *c, takt_id x)
{
    const takt_ints cats = takt_onnx_ints(c, "cats_int64s");
    const int rank = takt_type_of(c->g, x)->rank;
    if (cats.count == 0)
        return takt_onnx_refuse(c, "there are no categories");
    const takt_id keys = takt_onnx_i64s(c, cats.at, cats.count);
    const takt_id wide = takt_onnx_unsqueeze(c, takt_onnx_cast(c, x, TAKT_I64), rank);
    if (wide == TAKT_NONE)
        return takt_onnx_done(c, wide);
    return takt_onnx_done(c,
                          takt_onnx_cast(c, takt_binary(c->g, &takt_op_eq, wide, keys), TAKT_F32));
}

static takt_status adapt(takt_call *c)
{
    const bool is_label = takt_span_is(c->node->op, "LabelEncoder");
    const takt_id x = takt_onnx_in(c, 0);
    if (x == TAKT_NONE)
        return takt_onnx_refuse(c, "the input is missing");
    if (has_strings(c, "keys_strings") || has_strings(c, "values_strings") ||
        has_strings(c, "classes_strings") || has_strings(c, "cats_strings"))
        return takt_onnx_refuse(c, "it maps strings, which Takt does not have");
    return is_label ? encoder(c, x) : one_hot(c, x);
}

const takt_onnx_op takt_onnx_LabelEncoder = {
    .names = {"LabelEncoder", "OneHotEncoder"}, .domain = "ai.onnx.ml", .adapt = adapt};
