/* build.c - small builders for adapters. */
#include <string.h>

#include "io/constant.h"
#include "io/onnx/adapt.h"

/* After a failure attributes may be incomplete: the op would report that instead. */
takt_id takt_onnx_op1(takt_call *c, const takt_op *op, takt_id x, size_t n,
                      const takt_named_attr *attrs)
{
    if (x == TAKT_NONE || c->status != TAKT_OK)
        return TAKT_NONE;
    return takt_graph_call(c->g, op, 1, &x, n, attrs);
}

takt_id takt_onnx_op2(takt_call *c, const takt_op *op, takt_id a, takt_id b, size_t n,
                      const takt_named_attr *attrs)
{
    if (a == TAKT_NONE || b == TAKT_NONE || c->status != TAKT_OK)
        return TAKT_NONE;
    return takt_graph_call(c->g, op, 2, (takt_id[]){a, b}, n, attrs);
}

takt_id takt_onnx_i64s(takt_call *c, const int64_t *v, size_t n)
{
    const takt_type type = {.dtype = TAKT_I64, .rank = 1, .dim = {(int64_t)n}};
    return takt_io_constant(c->ctx, c->g, &type, NULL, v);
}

takt_id takt_onnx_floats(takt_call *c, takt_dtype dtype, const double *v, const int64_t *dims,
                         int rank)
{
    takt_type type = {.dtype = dtype, .rank = rank};
    memcpy(type.dim, dims, (size_t)rank * sizeof *dims);
    return takt_io_constant(c->ctx, c->g, &type, v, NULL);
}

takt_id takt_onnx_scalar(takt_call *c, takt_dtype dtype, double value)
{
    const takt_type type = {.dtype = dtype};
    return takt_io_constant(c->ctx, c->g, &type, &value, NULL);
}

takt_id takt_onnx_cast(takt_call *c, takt_id x, takt_dtype dtype)
{
    if (x == TAKT_NONE || takt_type_of(c->g, x)->dtype == dtype)
        return x;
    return takt_cast(c->g, x, dtype);
}

takt_id takt_onnx_squeeze(takt_call *c, takt_id x, int64_t axis)
{
    return takt_onnx_op1(c, &takt_op_squeeze, x, 1,
                         &(takt_named_attr){"axes", takt_attr_i64s(&axis, 1)});
}

takt_id takt_onnx_unsqueeze(takt_call *c, takt_id x, int64_t axis)
{
    return takt_onnx_op1(c, &takt_op_unsqueeze, x, 1,
                         &(takt_named_attr){"axes", takt_attr_i64s(&axis, 1)});
}

takt_id takt_onnx_gather(takt_call *c, takt_id x, takt_id index, int64_t axis)
{
    return takt_onnx_op2(c, &takt_op_gather, x, index, 1,
                         &(takt_named_attr){"axis", takt_attr_i64(axis)});
}

takt_id takt_onnx_size(takt_call *c, takt_id x, int axis)
{
    takt_dim d = takt_type_of(c->g, x)->dim[axis];
    if (takt_dim_resolve(c->g->dims, d, &d) == TAKT_OK && takt_dim_is_number(d))
        return takt_scalar_i64(c->g, d);
    return takt_onnx_op1(c, &takt_op_dim, x, 1, &(takt_named_attr){"axis", takt_attr_i64(axis)});
}

takt_id takt_onnx_shape(takt_call *c, takt_id x, const int64_t *dims, size_t rank)
{
    return x == TAKT_NONE ? x : takt_reshape(c->g, x, dims, rank);
}

takt_id takt_onnx_channel(takt_call *c, takt_id x, int rank)
{
    if (x == TAKT_NONE || rank < 1) {
        (void)takt_onnx_refuse(c, "values for each channel of rank %d", rank);
        return TAKT_NONE;
    }
    const takt_type *t = takt_type_of(c->g, x);
    takt_dim dims[TAKT_MAX_RANK] = {t->rank == 1 ? t->dim[0] : 1};
    for (int i = 1; i < rank - 1; i++)
        dims[i] = 1;
    return takt_reshape(c->g, x, dims, (size_t)rank - 1);
}

takt_id takt_onnx_attr_floats(takt_call *c, const char *name, const int64_t *dims, int rank)
{
    const takt_pb_attr *a = takt_onnx_attr(c, name);
    size_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    double *v = takt_onnx_get(c, count, sizeof *v);
    if (a == NULL || v == NULL || a->float_count != count) {
        (void)takt_onnx_refuse(c, "%s has another number of values", name);
        return TAKT_NONE;
    }
    for (size_t i = 0; i < count; i++)
        v[i] = (double)a->floats[i];
    return takt_onnx_floats(c, TAKT_F32, v, dims, rank);
}

size_t takt_onnx_attr_length(takt_call *c, const char *name)
{
    const takt_pb_attr *a = takt_onnx_attr(c, name);
    return a != NULL ? a->float_count : 0;
}
