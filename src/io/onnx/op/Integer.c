/* Integer.c - MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv: sums of integers. */
#include "io/onnx/spatial.h"

/* x - zero in i32. `axis`: where a vector of zeros lies, counted from the end. */
static takt_id shifted(takt_call *c, takt_id x, takt_id zero, int from_end)
{
    x = takt_onnx_cast(c, x, TAKT_I32);
    if (zero == TAKT_NONE || x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, zero);
    if (t.rank == 1 && from_end > 1) {
        takt_dim dims[TAKT_MAX_RANK] = {t.dim[0]};
        for (int i = 1; i < from_end; i++)
            dims[i] = 1;
        zero = takt_reshape(c->g, zero, dims, (size_t)from_end);
    }
    return takt_sub(c->g, x, takt_onnx_cast(c, zero, TAKT_I32));
}

static takt_id convolved(takt_call *c, takt_id x, takt_id w)
{
    takt_spatial s;
    int64_t kernel[TAKT_MAX_RANK];
    if (x == TAKT_NONE || w == TAKT_NONE)
        return TAKT_NONE;
    const takt_type *wt = takt_type_of(c->g, w);
    for (int i = 2; i < wt->rank; i++)
        kernel[i - 2] = wt->dim[i];
    if (takt_spatial_read(c, takt_type_of(c->g, x), kernel, wt->rank < 2 ? 0 : (size_t)wt->rank - 2,
                          &s) != TAKT_OK)
        return TAKT_NONE;
    const takt_named_attr attrs[] = {{"stride", takt_attr_i64s(s.stride, s.count)},
                                     {"dilation", takt_attr_i64s(s.dilation, s.count)},
                                     {"pad", takt_attr_i64s(s.pad, 2 * s.count)},
                                     {"groups", takt_attr_i64(takt_onnx_i(c, "group", 1))}};
    return takt_onnx_op2(c, &takt_op_conv, x, w, 4, attrs);
}

/* saturate(round(sum * factor) + zero). */
static takt_id requantized(takt_call *c, takt_id sum, takt_id factor, takt_id zero)
{
    if (sum == TAKT_NONE || factor == TAKT_NONE || zero == TAKT_NONE)
        return TAKT_NONE;
    const takt_dtype to = takt_type_of(c->g, zero)->dtype;
    takt_id q = takt_mul(c->g, takt_onnx_cast(c, sum, TAKT_F32), factor);
    q = takt_unary(c->g, &takt_op_round, q);
    q = takt_add(c->g, q, takt_onnx_cast(c, zero, TAKT_F32));
    const bool is_signed = to == TAKT_I8;
    q = takt_binary(c->g, &takt_op_max, q, takt_onnx_scalar(c, TAKT_F32, is_signed ? -128 : 0));
    q = takt_binary(c->g, &takt_op_min, q, takt_onnx_scalar(c, TAKT_F32, is_signed ? 127 : 255));
    return takt_onnx_cast(c, takt_onnx_cast(c, q, TAKT_I32), to);
}

/* a * b / y, in f32; a vector b goes along `from_end`. */
static takt_id factor(takt_call *c, size_t a, size_t b, size_t y, int from_end)
{
    takt_id second = takt_onnx_cast(c, takt_onnx_in(c, b), TAKT_F32);
    if (second == TAKT_NONE)
        return second;
    const takt_type t = *takt_type_of(c->g, second);
    if (t.rank == 1 && from_end > 1) {
        takt_dim dims[TAKT_MAX_RANK] = {t.dim[0]};
        for (int i = 1; i < from_end; i++)
            dims[i] = 1;
        second = takt_reshape(c->g, second, dims, (size_t)from_end);
    }
    const takt_id first = takt_onnx_cast(c, takt_onnx_in(c, a), TAKT_F32);
    return takt_div(c->g, takt_mul(c->g, first, second),
                    takt_onnx_cast(c, takt_onnx_in(c, y), TAKT_F32));
}

static takt_status qlinear_matmul(takt_call *c)
{
    const takt_id a = shifted(c, takt_onnx_in(c, 0), takt_onnx_in(c, 2), 2);
    const takt_id b = shifted(c, takt_onnx_in(c, 3), takt_onnx_in(c, 5), 1);
    const takt_id sum = takt_matmul(c->g, a, b, false, false);
    return takt_onnx_done(c, requantized(c, sum, factor(c, 1, 4, 6, 1), takt_onnx_in(c, 7)));
}

static takt_status qlinear_conv(takt_call *c)
{
    const int rank = takt_onnx_type(c, 0)->rank;
    const takt_id x = shifted(c, takt_onnx_in(c, 0), takt_onnx_in(c, 2), 1);
    const takt_id w = shifted(c, takt_onnx_in(c, 3), takt_onnx_in(c, 5), rank);
    takt_id sum = convolved(c, x, w);
    if (takt_onnx_has(c, 8) && sum != TAKT_NONE)
        sum = takt_add(c->g, sum, takt_onnx_channel(c, takt_onnx_in(c, 8), rank));
    return takt_onnx_done(c, requantized(c, sum, factor(c, 1, 4, 6, rank - 1), takt_onnx_in(c, 7)));
}

static takt_status adapt(takt_call *c)
{
    if (takt_span_is(c->node->op, "QLinearMatMul"))
        return qlinear_matmul(c);
    if (takt_span_is(c->node->op, "QLinearConv"))
        return qlinear_conv(c);
    const bool is_conv = takt_span_is(c->node->op, "ConvInteger");
    const int rank = takt_onnx_type(c, 1)->rank;
    const takt_id a = shifted(c, takt_onnx_in(c, 0), takt_onnx_in(c, 2), is_conv ? 1 : 2);
    const takt_id b = shifted(c, takt_onnx_in(c, 1), takt_onnx_in(c, 3), is_conv ? rank : 1);
    return takt_onnx_done(c, is_conv ? convolved(c, a, b) : takt_matmul(c->g, a, b, false, false));
}

const takt_onnx_op takt_onnx_Integer = {
    .names = {"MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"}, .adapt = adapt};
