/* build.c - shortcuts that append the common ops. */
#include "op/ops.h"

#include "ir/infer.h"

takt_id takt_unary(takt_graph *g, const takt_op *op, takt_id x)
{
    return x == TAKT_NONE ? TAKT_NONE : takt_graph_append(g, op, 1, &x, NULL);
}

takt_id takt_binary(takt_graph *g, const takt_op *op, takt_id a, takt_id b)
{
    const takt_id in[] = {a, b};
    return a == TAKT_NONE || b == TAKT_NONE ? TAKT_NONE : takt_graph_append(g, op, 2, in, NULL);
}

static takt_id scalar(takt_graph *g, takt_dtype dtype, double f, int64_t i)
{
    const takt_type type = {.dtype = dtype};
    takt_tensor tensor = {0};
    const takt_status status = takt_tensor_create(g->ctx, &type, &tensor);
    if (status != TAKT_OK)
        return takt_graph_fail(g, status);
    if (takt_dtype_is_float(dtype))
        takt_dtype_put_f(dtype, takt_tensor_data(&tensor), 0, f);
    else
        takt_dtype_put_i(dtype, takt_tensor_data(&tensor), 0, i);
    const takt_id id = takt_graph_constant(g, &tensor);
    takt_tensor_release(&tensor);
    return id;
}

takt_id takt_scalar_like(takt_graph *g, takt_id like, double value)
{
    if (like == TAKT_NONE || g->status != TAKT_OK)
        return TAKT_NONE;
    const takt_dtype dtype = takt_type_of(g, like)->dtype;
    const int64_t whole = takt_dtype_is_float(dtype) ? 0 : takt_dtype_from_double(dtype, value);
    return scalar(g, dtype, value, whole);
}

takt_id takt_scalar_i64(takt_graph *g, int64_t value)
{
    return g->status != TAKT_OK ? TAKT_NONE : scalar(g, TAKT_I64, 0, value);
}

takt_id takt_add_scalar(takt_graph *g, takt_id x, double value)
{
    return takt_add(g, x, takt_scalar_like(g, x, value));
}

takt_id takt_mul_scalar(takt_graph *g, takt_id x, double value)
{
    return takt_mul(g, x, takt_scalar_like(g, x, value));
}

takt_id takt_add(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_add, a, b);
}

takt_id takt_sub(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_sub, a, b);
}

takt_id takt_mul(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_mul, a, b);
}

takt_id takt_div(takt_graph *g, takt_id a, takt_id b)
{
    return takt_binary(g, &takt_op_div, a, b);
}

takt_id takt_neg(takt_graph *g, takt_id x)
{
    return takt_unary(g, &takt_op_neg, x);
}

takt_id takt_select(takt_graph *g, takt_id condition, takt_id a, takt_id b)
{
    const takt_id in[] = {condition, a, b};
    if (condition == TAKT_NONE || a == TAKT_NONE || b == TAKT_NONE)
        return TAKT_NONE;
    return takt_graph_append(g, &takt_op_select, 3, in, NULL);
}

/* One input, one or more attributes by name. */
static takt_id call(takt_graph *g, const takt_op *op, takt_id x, size_t count,
                    const takt_named_attr *attrs)
{
    return x == TAKT_NONE ? TAKT_NONE : takt_graph_call(g, op, 1, &x, count, attrs);
}

takt_id takt_cast(takt_graph *g, takt_id x, takt_dtype dtype)
{
    if (x == TAKT_NONE || takt_type_of(g, x)->dtype == dtype)
        return x;
    return call(g, &takt_op_cast, x, 1, &(takt_named_attr){"dtype", takt_attr_dtype(dtype)});
}

takt_id takt_reduce_over(takt_graph *g, const takt_op *op, takt_id x, const int64_t *axes,
                         size_t count, bool keep)
{
    const takt_named_attr attrs[] = {{"axes", takt_attr_i64s(axes, count)},
                                     {"keep", takt_attr_bool(keep)}};
    return call(g, op, x, 2, attrs);
}

takt_id takt_sum_to(takt_graph *g, takt_id x, takt_id like)
{
    if (x == TAKT_NONE || like == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *from = takt_type_of(g, x), *to = takt_type_of(g, like);
    const int lead = from->rank - to->rank;
    int64_t axes[TAKT_MAX_RANK];
    size_t count = 0;
    for (int i = 0; i < from->rank; i++)
        if (i < lead || (takt_dim_same(g->dims, to->dim[i - lead], 1) &&
                         !takt_dim_same(g->dims, from->dim[i], 1)))
            axes[count++] = i;
    /* Without axes the reduction would reduce all of them. */
    if (count > 0)
        x = takt_reduce_over(g, &takt_op_reduce_sum, x, axes, count, false);
    return takt_reshape_like(g, x, like);
}

static bool same_dims(takt_graph *g, const takt_type *type, const takt_dim *dims, size_t rank)
{
    if ((size_t)type->rank != rank)
        return false;
    for (size_t i = 0; i < rank; i++)
        if (!takt_dim_same(g->dims, type->dim[i], dims[i]))
            return false;
    return true;
}

takt_id takt_reshape(takt_graph *g, takt_id x, const takt_dim *dims, size_t rank)
{
    if (x == TAKT_NONE || same_dims(g, takt_type_of(g, x), dims, rank))
        return x;
    return call(g, &takt_op_reshape, x, 1,
                &(takt_named_attr){"shape", takt_attr_shape(dims, rank)});
}

takt_id takt_reshape_like(takt_graph *g, takt_id x, takt_id like)
{
    if (x == TAKT_NONE || like == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *type = takt_type_of(g, like);
    return takt_reshape(g, x, type->dim, (size_t)type->rank);
}

takt_id takt_transpose(takt_graph *g, takt_id x, const int64_t *perm, size_t rank)
{
    bool moves = false;
    for (size_t i = 0; i < rank; i++)
        moves = moves || perm[i] != (int64_t)i;
    if (!moves)
        return x;
    return call(g, &takt_op_transpose, x, 1,
                &(takt_named_attr){"perm", takt_attr_i64s(perm, rank)});
}

takt_id takt_broadcast(takt_graph *g, takt_id x, const takt_dim *dims, size_t rank)
{
    if (x == TAKT_NONE || same_dims(g, takt_type_of(g, x), dims, rank))
        return x;
    return call(g, &takt_op_broadcast, x, 1,
                &(takt_named_attr){"shape", takt_attr_shape(dims, rank)});
}

takt_id takt_broadcast_like(takt_graph *g, takt_id x, takt_id like)
{
    if (x == TAKT_NONE || like == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *type = takt_type_of(g, like);
    return takt_broadcast(g, x, type->dim, (size_t)type->rank);
}

takt_id takt_slice(takt_graph *g, takt_id x, int64_t axis, int64_t start, int64_t stop,
                   int64_t step)
{
    const takt_named_attr attrs[] = {{"axes", takt_attr_i64s(&axis, 1)},
                                     {"start", takt_attr_i64s(&start, 1)},
                                     {"stop", takt_attr_i64s(&stop, 1)},
                                     {"step", takt_attr_i64s(&step, 1)}};
    return call(g, &takt_op_slice, x, 4, attrs);
}

takt_id takt_concat(takt_graph *g, const takt_id *in, size_t count, int64_t axis)
{
    for (size_t i = 0; i < count; i++)
        if (in[i] == TAKT_NONE)
            return TAKT_NONE;
    return takt_graph_call(g, &takt_op_concat, count, in, 1,
                           &(takt_named_attr){"axis", takt_attr_i64(axis)});
}

takt_id takt_matmul(takt_graph *g, takt_id a, takt_id b, bool transpose_a, bool transpose_b)
{
    const takt_id in[] = {a, b};
    const takt_named_attr attrs[] = {{"transpose_a", takt_attr_bool(transpose_a)},
                                     {"transpose_b", takt_attr_bool(transpose_b)}};
    if (a == TAKT_NONE || b == TAKT_NONE)
        return TAKT_NONE;
    return takt_graph_call(g, &takt_op_matmul, 2, in, 2, attrs);
}

bool takt_axis(takt_infer *in, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank) {
        (void)takt_infer_fail(in, TAKT_E_ATTR, "axis %lld is out of range for rank %d",
                              (long long)axis, rank);
        if (rank > 0)
            (void)takt_fail_hint(in->ctx, "axes go from %d to %d", -rank, rank - 1);
        return false;
    }
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}
