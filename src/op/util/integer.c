/* integer.c - zero points, bias and requantisation around sums of integers. */
#include "op/util/integer.h"

#include "op/util/check.h"

/* A scalar, or a vector of `columns` if that is allowed. */
static takt_status parameter(takt_infer *in, size_t index, takt_dtype dtype, takt_dim columns)
{
    const takt_type *type = in->type[index];
    if (type->dtype != dtype)
        return takt_infer_fail(in, TAKT_E_DTYPE, "%s must be %s", in->op->in_names[index],
                               takt_dtype_name(dtype));
    TAKT_TRY(takt_infer_rank(in, index, 0, columns != 0 ? 1 : 0));
    return type->rank == 0 ? TAKT_OK : takt_infer_vector(in, index, columns);
}

static takt_status result(takt_infer *in, takt_dim columns)
{
    const bool scales = takt_infer_has(in, TAKT_INTEGER_SCALE);
    in->out[0].dtype = scales ? TAKT_F32 : TAKT_I32;
    if (scales)
        TAKT_TRY(parameter(in, TAKT_INTEGER_SCALE, TAKT_F32, columns));
    if (!takt_infer_has(in, TAKT_INTEGER_ZERO))
        return TAKT_OK;
    if (!scales)
        return takt_infer_fail(in, TAKT_E_ATTR, "zero without scale");
    TAKT_TRY(takt_infer_dtype(in, TAKT_INTEGER_ZERO, TAKT_BYTES, "i8 or u8"));
    in->out[0].dtype = in->type[TAKT_INTEGER_ZERO]->dtype;
    return takt_infer_rank(in, TAKT_INTEGER_ZERO, 0, 0);
}

takt_status takt_integer_infer(takt_infer *in, takt_dim columns)
{
    const takt_dtype a = in->type[TAKT_INTEGER_A]->dtype, b = in->type[TAKT_INTEGER_B]->dtype;
    TAKT_TRY(takt_infer_dtype(in, TAKT_INTEGER_A, TAKT_BYTES, "i8 or u8"));
    TAKT_TRY(takt_infer_dtype(in, TAKT_INTEGER_B, TAKT_BYTES, "i8 or u8"));
    if (takt_infer_has(in, TAKT_INTEGER_A_ZERO))
        TAKT_TRY(parameter(in, TAKT_INTEGER_A_ZERO, a, 0));
    if (takt_infer_has(in, TAKT_INTEGER_B_ZERO))
        TAKT_TRY(parameter(in, TAKT_INTEGER_B_ZERO, b, columns));
    if (takt_infer_has(in, TAKT_INTEGER_BIAS)) {
        TAKT_TRY(parameter(in, TAKT_INTEGER_BIAS, TAKT_I32, columns));
        TAKT_TRY(takt_infer_rank(in, TAKT_INTEGER_BIAS, 1, 1));
    }
    return result(in, columns);
}

static takt_id input(const takt_node *n, size_t which)
{
    return which < n->in_count ? n->in[which] : TAKT_NONE;
}

/* A vector as [size, 1, 1, ...], so that it broadcasts along its axis. */
static takt_id along(takt_graph *g, takt_id x, int after)
{
    const takt_type type = *takt_type_of(g, x);
    takt_dim dims[TAKT_MAX_RANK];
    if (type.rank == 0 || after == 0)
        return x;
    for (int i = 0; i <= after; i++)
        dims[i] = i == 0 ? type.dim[0] : 1;
    return takt_reshape(g, x, dims, (size_t)after + 1);
}

takt_id takt_integer_shifted(takt_graph *g, const takt_node *n, size_t which, int after)
{
    const takt_id x = takt_cast(g, n->in[which], TAKT_I32);
    const takt_id zero = input(n, TAKT_INTEGER_A_ZERO + which);
    if (zero == TAKT_NONE)
        return x;
    return takt_sub(g, x, along(g, takt_cast(g, zero, TAKT_I32), after));
}

takt_id takt_integer_finish(takt_graph *g, const takt_node *n, takt_id sum, int after)
{
    const takt_id bias = input(n, TAKT_INTEGER_BIAS), scale = input(n, TAKT_INTEGER_SCALE),
                  zero = input(n, TAKT_INTEGER_ZERO);
    if (bias != TAKT_NONE)
        sum = takt_add(g, sum, along(g, bias, after));
    if (scale == TAKT_NONE)
        return sum;
    const takt_id x = takt_mul(g, takt_cast(g, sum, TAKT_F32), along(g, scale, after));
    if (zero == TAKT_NONE || x == TAKT_NONE)
        return x;
    const takt_named_attr dtype = {"dtype", takt_attr_dtype(takt_type_of(g, zero)->dtype)};
    const takt_id one = takt_scalar_like(g, x, 1);
    return takt_graph_call(g, &takt_op_quantize, 3, (takt_id[]){x, one, zero}, 1, &dtype);
}
