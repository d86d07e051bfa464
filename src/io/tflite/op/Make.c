/* Make.c - SHAPE, RANK, FILL, RANGE, ZEROS_LIKE, ONE_HOT, BROADCAST_ARGS, CAST and BITCAST. */
#include <math.h>

#include "io/tflite/quant.h"

static takt_id shape_of(takt_tfl_call *c)
{
    const takt_type t = takt_tfl_type(c, 0);
    const int64_t rank = t.rank;
    return takt_tfl_make_i(c, takt_tfl_dtype_of(takt_tfl_tensor_out(c, 0)->type), t.dim, &rank, 1);
}

static takt_id filled(takt_tfl_call *c)
{
    const takt_tfl_ints dims = takt_tfl_known(c, 0);
    const takt_id value = takt_tfl_need(c, 1);
    if (dims.count > TAKT_MAX_RANK)
        (void)takt_tfl_refuse(c, "%zu axes", dims.count);
    for (size_t i = 0; i < dims.count; i++)
        if (dims.at[i] < 0)
            (void)takt_tfl_refuse(c, "an axis of %lld", (long long)dims.at[i]);
    return takt_tfl_good(c) ? takt_broadcast(c->g, value, dims.at, dims.count) : TAKT_NONE;
}

static takt_id range(takt_tfl_call *c)
{
    const double start = takt_tfl_known_f(c, 0), limit = takt_tfl_known_f(c, 1),
                 delta = takt_tfl_known_f(c, 2);
    const double n = ceil((limit - start) / delta);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    if (!(n >= 0) || n > 1 << 24) {
        (void)takt_tfl_refuse(c, "a range from %g to %g by %g", start, limit, delta);
        return TAKT_NONE;
    }
    const int64_t count = (int64_t)n;
    double *v = takt_tfl_get(c, (size_t)count, sizeof *v);
    for (int64_t i = 0; v != NULL && i < count; i++)
        v[i] = start + (double)i * delta;
    return v == NULL ? TAKT_NONE : takt_tfl_make_f(c, takt_tfl_type(c, 0).dtype, v, &count, 1);
}

/* Compares with 0, 1, … on a new axis: `on` where equal, else `off`. */
static takt_id one_hot(takt_tfl_call *c)
{
    const takt_id index = takt_tfl_need(c, 0), on = takt_tfl_need(c, 2), off = takt_tfl_need(c, 3);
    const int64_t depth = takt_tfl_known_one(c, 1);
    const takt_type t = *takt_type_of(c->g, index);
    const int axis = takt_tfl_axis(c, takt_tfl_i32(c, 0, 0), t.rank + 1);
    int64_t dims[TAKT_MAX_RANK];
    if (!takt_tfl_good(c) || depth < 0 || depth > 1 << 24 || t.rank + 1 > TAKT_MAX_RANK) {
        (void)takt_tfl_refuse(c, "a depth of %lld", (long long)depth);
        return TAKT_NONE;
    }
    int64_t *v = takt_tfl_get(c, (size_t)depth, sizeof *v);
    for (int64_t i = 0; v != NULL && i < depth; i++)
        v[i] = i;
    for (int d = 0; d <= t.rank; d++)
        dims[d] = d == axis ? depth : 1;
    if (v == NULL)
        return TAKT_NONE;
    const takt_id places = takt_tfl_make_i(c, t.dtype, v, dims, t.rank + 1);
    const takt_id same =
        takt_tfl_op2(c, &takt_op_eq, takt_tfl_unsqueeze(c, index, axis), places, 0, NULL);
    return same == TAKT_NONE ? same
                             : takt_select(c->g, same, takt_tfl_shape(c, on, NULL, 0),
                                           takt_tfl_shape(c, off, NULL, 0));
}

static takt_id broadcast_args(takt_tfl_call *c)
{
    const takt_tfl_ints a = takt_tfl_known(c, 0), b = takt_tfl_known(c, 1);
    const size_t n = a.count > b.count ? a.count : b.count;
    const int64_t count = (int64_t)n;
    int64_t dims[TAKT_MAX_RANK];
    if (n > TAKT_MAX_RANK || !takt_tfl_good(c)) {
        (void)takt_tfl_refuse(c, "%zu axes", n);
        return TAKT_NONE;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t x = i + a.count >= n ? a.at[i + a.count - n] : 1,
                      y = i + b.count >= n ? b.at[i + b.count - n] : 1;
        if (x != y && x != 1 && y != 1)
            (void)takt_tfl_refuse(c, "%lld and %lld", (long long)x, (long long)y);
        dims[i] = x == 1 ? y : x;
    }
    return takt_tfl_make_i(c, takt_tfl_type(c, 0).dtype, dims, &count, 1);
}

static takt_id cast(takt_tfl_call *c)
{
    takt_id x = takt_tfl_need(c, 0);
    const takt_tfl_dtype from = takt_tfl_tensor_in(c, 0)->type,
                         made = takt_tfl_tensor_out(c, 0)->type;
    const takt_dtype to = takt_tfl_dtype_of(made);
    if (to == TAKT_DTYPE_COUNT || made == TAKT_TFL_COMPLEX64)
        (void)takt_tfl_refuse(c, "to type %s", takt_tfl_dtype_name(made));
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    if (from == TAKT_TFL_COMPLEX64) /* the real part of each pair */
        x = takt_tfl_squeeze(c, takt_slice(c->g, x, -1, 0, 1, 1), -1);
    return takt_tfl_cast(c, x, to);
}

static takt_id bitcast(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_dtype to = takt_tfl_dtype_of(takt_tfl_tensor_out(c, 0)->type);
    if (x == TAKT_NONE || to == TAKT_DTYPE_COUNT ||
        takt_dtype_bits(to) != takt_dtype_bits(takt_type_of(c->g, x)->dtype)) {
        (void)takt_tfl_refuse(c, "elements of another size");
        return TAKT_NONE;
    }
    return takt_tfl_op1(c, &takt_op_bitcast, x, 1,
                        &(takt_named_attr){"dtype", takt_attr_dtype(to)});
}

static takt_status adapt(takt_tfl_call *c)
{
    if (takt_tfl_is(c, "RANK"))
        return takt_tfl_done(c, takt_tfl_number(c, TAKT_I32, takt_tfl_type(c, 0).rank));
    if (takt_tfl_is(c, "ZEROS_LIKE")) {
        const takt_type t = takt_tfl_type(c, 0);
        return takt_tfl_done(
            c, takt_broadcast(c->g, takt_tfl_number(c, t.dtype, 0), t.dim, (size_t)t.rank));
    }
    return takt_tfl_done(c, takt_tfl_is(c, "SHAPE")            ? shape_of(c)
                            : takt_tfl_is(c, "FILL")           ? filled(c)
                            : takt_tfl_is(c, "RANGE")          ? range(c)
                            : takt_tfl_is(c, "ONE_HOT")        ? one_hot(c)
                            : takt_tfl_is(c, "CAST")           ? cast(c)
                            : takt_tfl_is(c, "BROADCAST_ARGS") ? broadcast_args(c)
                                                               : bitcast(c));
}

const takt_tflite_op takt_tflite_Make = {.names = {"SHAPE", "RANK", "FILL", "RANGE", "ZEROS_LIKE",
                                                   "ONE_HOT", "BROADCAST_ARGS", "CAST", "BITCAST"},
                                         .adapt = adapt};
