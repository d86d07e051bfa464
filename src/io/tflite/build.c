/* build.c - small builders for adapters. */
#include <string.h>

#include "io/constant.h"
#include "io/tflite/adapt.h"

/* After a failure attributes may be incomplete: the op would report that instead. */
takt_id takt_tfl_op1(takt_tfl_call *c, const takt_op *op, takt_id x, size_t n,
                     const takt_named_attr *attrs)
{
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    return takt_graph_call(c->g, op, 1, &x, n, attrs);
}

takt_id takt_tfl_op2(takt_tfl_call *c, const takt_op *op, takt_id a, takt_id b, size_t n,
                     const takt_named_attr *attrs)
{
    if (a == TAKT_NONE || b == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    return takt_graph_call(c->g, op, 2, (takt_id[]){a, b}, n, attrs);
}

static takt_id constant(takt_tfl_call *c, const takt_type *type, const double *f, const int64_t *i)
{
    return takt_tfl_good(c) ? takt_io_constant(c->ctx, c->g, type, f, i) : TAKT_NONE;
}

takt_id takt_tfl_make_i(takt_tfl_call *c, takt_dtype dtype, const int64_t *v, const int64_t *dims,
                        int rank)
{
    takt_type type = {.dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++)
        type.dim[d] = dims[d];
    return constant(c, &type, NULL, v);
}

takt_id takt_tfl_make_f(takt_tfl_call *c, takt_dtype dtype, const double *v, const int64_t *dims,
                        int rank)
{
    takt_type type = {.dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++)
        type.dim[d] = dims[d];
    return constant(c, &type, v, NULL);
}

takt_id takt_tfl_number(takt_tfl_call *c, takt_dtype dtype, double value)
{
    const takt_type type = {.dtype = dtype};
    return constant(c, &type, &value, NULL);
}

takt_id takt_tfl_cast(takt_tfl_call *c, takt_id x, takt_dtype dtype)
{
    if (x == TAKT_NONE || takt_type_of(c->g, x)->dtype == dtype)
        return x;
    return takt_cast(c->g, x, dtype);
}

takt_id takt_tfl_shape(takt_tfl_call *c, takt_id x, const int64_t *dims, int rank)
{
    return x == TAKT_NONE || !takt_tfl_good(c) ? TAKT_NONE
                                               : takt_reshape(c->g, x, dims, (size_t)rank);
}

takt_id takt_tfl_squeeze(takt_tfl_call *c, takt_id x, int64_t axis)
{
    return takt_tfl_op1(c, &takt_op_squeeze, x, 1,
                        &(takt_named_attr){"axes", takt_attr_i64s(&axis, 1)});
}

takt_id takt_tfl_unsqueeze(takt_tfl_call *c, takt_id x, int64_t axis)
{
    return takt_tfl_op1(c, &takt_op_unsqueeze, x, 1,
                        &(takt_named_attr){"axes", takt_attr_i64s(&axis, 1)});
}

takt_id takt_tfl_gather(takt_tfl_call *c, takt_id x, takt_id index, int64_t axis)
{
    return takt_tfl_op2(c, &takt_op_gather, x, index, 1,
                        &(takt_named_attr){"axis", takt_attr_i64(axis)});
}

takt_id takt_tfl_clip(takt_tfl_call *c, takt_id x, double low, double high)
{
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_named_attr attrs[] = {{"min", takt_attr_f64(low)}, {"max", takt_attr_f64(high)}};
    return takt_graph_call(c->g, &takt_op_clip, 1, &x, 2, attrs);
}

takt_id takt_tfl_pad(takt_tfl_call *c, takt_id x, const int64_t *before, const int64_t *after,
                     double value)
{
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const size_t rank = (size_t)takt_type_of(c->g, x)->rank;
    bool any = false;
    for (size_t d = 0; d < rank; d++)
        any |= before[d] != 0 || after[d] != 0;
    if (!any)
        return x;
    const takt_named_attr attrs[] = {{"before", takt_attr_i64s(before, rank)},
                                     {"after", takt_attr_shape(after, rank)},
                                     {"value", takt_attr_f64(value)}};
    return takt_tfl_op1(c, &takt_op_pad, x, 3, attrs);
}

takt_id takt_tfl_activate(takt_tfl_call *c, takt_id x, int activation)
{
    if (x == TAKT_NONE)
        return x;
    switch (activation) {
    case TAKT_TFL_NONE: return x;
    case TAKT_TFL_RELU: return takt_unary(c->g, &takt_op_relu, x);
    case TAKT_TFL_RELU_N1: return takt_tfl_clip(c, x, -1, 1);
    case TAKT_TFL_RELU6:
        return takt_dtype_is_float(takt_type_of(c->g, x)->dtype)
                   ? takt_unary(c->g, &takt_op_relu6, x)
                   : takt_tfl_clip(c, x, 0, 6);
    case TAKT_TFL_TANH: return takt_unary(c->g, &takt_op_tanh, x);
    default: (void)takt_tfl_refuse(c, "activation %d is fused", activation); return TAKT_NONE;
    }
}
