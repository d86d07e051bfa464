/* integer.c - zero points, bias and requantisation around sums of integers. */
#include "op/util/integer.h"

#include "op/util/check.h"

/* A scalar, or a vector of `columns` if allowed. */
static takt_status parameter(takt_infer *in, size_t index, takt_dtype dtype, takt_dim columns)
{
    const takt_type *type = in->type[index];
    if (type->dtype != dtype)
        return takt_infer_fail(in, TAKT_E_DTYPE, "%s must be %s", in->op->in_names[index],
                               takt_dtype_name(dtype));
    TAKT_TRY(takt_infer_rank(in, index, 0, columns != 0 ? 1 : 0));
    return type->rank == 0 ? TAKT_OK : takt_infer_vector(in, index, columns);
}

/* Fixed point: a multiplier in place of the scale, and a shift of its shape. */
static takt_status fixed(takt_infer *in, takt_dim columns)
{
    if (!takt_infer_has(in, TAKT_INTEGER_SCALE) || !takt_infer_has(in, TAKT_INTEGER_ZERO))
        return takt_infer_fail(in, TAKT_E_ATTR, "shift without scale and zero");
    TAKT_TRY(parameter(in, TAKT_INTEGER_SCALE, TAKT_I32, columns));
    TAKT_TRY(parameter(in, TAKT_INTEGER_SHIFT, TAKT_I32, columns));
    return takt_infer_same_shape(in, TAKT_INTEGER_SCALE, TAKT_INTEGER_SHIFT);
}

static takt_status result(takt_infer *in, takt_dim columns)
{
    const bool scales = takt_infer_has(in, TAKT_INTEGER_SCALE);
    const bool is_wide = scales && in->type[TAKT_INTEGER_SCALE]->dtype == TAKT_F64;
    in->out[0].dtype = scales ? TAKT_F32 : TAKT_I32;
    if (takt_infer_has(in, TAKT_INTEGER_SHIFT))
        TAKT_TRY(fixed(in, columns));
    else if (is_wide && !takt_infer_has(in, TAKT_INTEGER_ZERO))
        return takt_infer_fail(in, TAKT_E_ATTR, "a scale of f64 without zero");
    else if (is_wide)
        TAKT_TRY(parameter(in, TAKT_INTEGER_SCALE, TAKT_F64, columns));
    else if (scales)
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

/* ---- fixed point, and doubles ---- */

bool takt_integer_is_other(const takt_graph *g, const takt_node *n)
{
    const takt_id scale = input(n, TAKT_INTEGER_SCALE);
    return scale != TAKT_NONE && takt_type_of(g, scale)->dtype != TAKT_F32;
}

/* Clamps x so that the sum with zero does not wrap; in the type of zero. */
static takt_id saturated(takt_graph *g, takt_id x, takt_id zero)
{
    const takt_dtype dtype = takt_type_of(g, zero)->dtype;
    const double low = dtype == TAKT_U8 ? 0 : -128, high = dtype == TAKT_U8 ? 255 : 127;
    const takt_id wide = takt_cast(g, zero, takt_type_of(g, x)->dtype);
    x = takt_binary(g, &takt_op_max, x, takt_sub(g, takt_scalar_like(g, wide, low), wide));
    x = takt_binary(g, &takt_op_min, x, takt_sub(g, takt_scalar_like(g, wide, high), wide));
    return takt_cast(g, takt_add(g, x, wide), dtype);
}

/* Halves away from zero: the remainder after the integer part is exact. */
static takt_id rounded(takt_graph *g, takt_id x)
{
    const takt_id whole = takt_unary(g, &takt_op_trunc, x);
    const takt_id rest = takt_unary(g, &takt_op_abs, takt_sub(g, x, whole));
    const takt_id is_up = takt_binary(g, &takt_op_ge, rest, takt_scalar_like(g, x, 0.5));
    return takt_add(g, whole,
                    takt_mul(g, takt_cast(g, is_up, TAKT_F64), takt_unary(g, &takt_op_sign, x)));
}

takt_id takt_integer_lower_other(takt_graph *g, const takt_node *n, int after)
{
    const takt_node old = *n;
    const takt_id zero = old.in[TAKT_INTEGER_ZERO], shift = input(&old, TAKT_INTEGER_SHIFT);
    const takt_id sum = takt_graph_append(g, old.op, TAKT_INTEGER_SCALE, old.in, old.attr);
    const takt_id scale = along(g, old.in[TAKT_INTEGER_SCALE], after);
    if (sum == TAKT_NONE || scale == TAKT_NONE)
        return TAKT_NONE;
    if (shift == TAKT_NONE)
        return saturated(g, rounded(g, takt_mul(g, takt_cast(g, sum, TAKT_F64), scale)), zero);
    const takt_id in[] = {sum, scale, along(g, shift, after)};
    const takt_id x = takt_graph_call(g, &takt_op_rescale, 3, in, 0, NULL);
    return x == TAKT_NONE ? x : saturated(g, x, zero);
}

/* ---- element by element ---- */

takt_status takt_integer_infer_levels(takt_infer *in, int first, uint32_t zeros)
{
    TAKT_TRY(takt_infer_dtype(in, 0, TAKT_BYTES, "i8 or u8"));
    TAKT_TRY(takt_check_same_dtype(in, 0, 1));
    const takt_dtype dtype = in->type[0]->dtype;
    const int64_t least = dtype == TAKT_I8 ? -128 : 0;
    const takt_attr *a = in->attr + first;
    for (int i = 0; i <= first + TAKT_LEVEL_HIGH; i++) {
        const int64_t value = in->attr[i].i64;
        const bool is_level = i >= first + TAKT_LEVEL_ZERO || (zeros >> i & 1) != 0;
        if (is_level && (value < least || value > least + 255))
            return takt_infer_fail(in, TAKT_E_ATTR, "%s is %lld, which is not a valid %s",
                                   in->op->attrs[i].name, (long long)value, takt_dtype_name(dtype));
        if (value < INT32_MIN || value > INT32_MAX)
            return takt_infer_fail(in, TAKT_E_ATTR, "%s does not fit into 32 bits",
                                   in->op->attrs[i].name);
    }
    if (a[TAKT_LEVEL_LOW].i64 > a[TAKT_LEVEL_HIGH].i64)
        return takt_infer_fail(in, TAKT_E_ATTR, "low is %lld and high %lld",
                               (long long)a[TAKT_LEVEL_LOW].i64, (long long)a[TAKT_LEVEL_HIGH].i64);
    return takt_infer_elementwise(in);
}

takt_id takt_integer_rescaled(takt_graph *g, takt_id x, int64_t multiplier, int64_t shift)
{
    const takt_id in[] = {x, takt_scalar_like(g, x, (double)multiplier),
                          takt_scalar_like(g, x, (double)shift)};
    return takt_graph_call(g, &takt_op_rescale, 3, in, 0, NULL);
}

/* Clamped before the zero point is added, which then cannot wrap. */
takt_id takt_integer_level(takt_graph *g, takt_id x, const takt_attr *a, takt_dtype dtype)
{
    const int64_t zero = a[TAKT_LEVEL_ZERO].i64;
    const takt_named_attr bounds[] = {
        {"min", takt_attr_f64((double)(a[TAKT_LEVEL_LOW].i64 - zero))},
        {"max", takt_attr_f64((double)(a[TAKT_LEVEL_HIGH].i64 - zero))}};
    takt_id level =
        takt_integer_rescaled(g, x, a[TAKT_LEVEL_MULTIPLIER].i64, a[TAKT_LEVEL_SHIFT].i64);
    level = takt_graph_call(g, &takt_op_clip, 1, &level, 2, bounds);
    level = takt_add(g, level, takt_scalar_like(g, level, (double)zero));
    return takt_cast(g, level, dtype);
}
