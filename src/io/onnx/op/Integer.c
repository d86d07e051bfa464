/* Integer.c - MatMulInteger, ConvInteger, QLinearMatMul and QLinearConv: sums of integers. */
#include "op/util/integer.h"
#include "io/onnx/spatial.h"

/* x - zero in i32. `axis`: axis of a vector of zeros, counted from the end. */
static takt_id shifted(takt_call *c, takt_id x, takt_id zero, int from_end)
{
    x = takt_onnx_cast(c, x, TAKT_I32);
    if (zero == TAKT_NONE || x == TAKT_NONE)
        return x;
    const takt_type t = *takt_type_of(c->g, zero);
    if (t.rank > takt_type_of(c->g, x)->rank) { /* it would widen x */
        (void)takt_onnx_refuse(c, "a zero point has rank %d", t.rank);
        return TAKT_NONE;
    }
    if (t.rank == 1 && from_end > 1) {
        takt_dim dims[TAKT_MAX_RANK] = {t.dim[0]};
        for (int i = 1; i < from_end; i++)
            dims[i] = 1;
        zero = takt_reshape(c->g, zero, dims, (size_t)from_end);
    }
    return takt_sub(c->g, x, takt_onnx_cast(c, zero, TAKT_I32));
}

/* The attributes of a convolution of x and w; false if they are refused. */
static bool window_of(takt_call *c, takt_id x, takt_id w, takt_spatial *s, takt_named_attr attrs[4])
{
    int64_t kernel[TAKT_MAX_RANK];
    const takt_type *wt = takt_type_of(c->g, w);
    for (int i = 2; i < wt->rank; i++)
        kernel[i - 2] = wt->dim[i];
    if (takt_spatial_read(c, takt_type_of(c->g, x), kernel, wt->rank < 2 ? 0 : (size_t)wt->rank - 2,
                          s) != TAKT_OK)
        return false;
    attrs[0] = (takt_named_attr){"stride", takt_attr_i64s(s->stride, s->count)};
    attrs[1] = (takt_named_attr){"dilation", takt_attr_i64s(s->dilation, s->count)};
    attrs[2] = (takt_named_attr){"pad", takt_attr_i64s(s->pad, 2 * s->count)};
    attrs[3] = (takt_named_attr){"groups", takt_attr_i64(takt_onnx_i(c, "group", 1))};
    return true;
}

static takt_id convolved(takt_call *c, takt_id x, takt_id w)
{
    takt_spatial s;
    takt_named_attr attrs[4];
    if (x == TAKT_NONE || w == TAKT_NONE || !window_of(c, x, w, &s, attrs))
        return TAKT_NONE;
    return takt_onnx_op2(c, &takt_op_conv, x, w, 4, attrs);
}

/* ---- the forms that integer_matmul and integer_conv take ---- */

/* A parameter with one element as a scalar; one per column stays a vector. */
static takt_id scalar(takt_call *c, takt_id x)
{
    if (x == TAKT_NONE)
        return x;
    const takt_type *t = takt_type_of(c->g, x);
    return t->rank == 1 && t->dim[0] == 1 ? takt_reshape(c->g, x, NULL, 0) : x;
}

static bool has_rank(takt_call *c, takt_id x, int most)
{
    return x == TAKT_NONE || takt_type_of(c->g, x)->rank <= most;
}

static bool is_byte(takt_call *c, takt_id x)
{
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    return dtype == TAKT_I8 || dtype == TAKT_U8;
}

/* True if the op takes these inputs; parameters with one element become scalars. */
static bool is_whole(takt_call *c, takt_id in[TAKT_INTEGER_INPUTS], bool is_conv)
{
    const int rank = takt_type_of(c->g, in[1])->rank;
    for (size_t k = TAKT_INTEGER_A_ZERO; k < TAKT_INTEGER_INPUTS; k++)
        if (k != TAKT_INTEGER_BIAS)
            in[k] = scalar(c, in[k]);
    return is_byte(c, in[0]) && is_byte(c, in[1]) && (is_conv || rank == 2) &&
           has_rank(c, in[TAKT_INTEGER_A_ZERO], 0) && has_rank(c, in[TAKT_INTEGER_B_ZERO], 1) &&
           has_rank(c, in[TAKT_INTEGER_SCALE], 1) && has_rank(c, in[TAKT_INTEGER_ZERO], 0);
}

static takt_status whole(takt_call *c, const takt_id in[TAKT_INTEGER_INPUTS], bool is_conv)
{
    takt_spatial s;
    takt_named_attr attrs[4];
    size_t count = TAKT_INTEGER_INPUTS;
    while (in[count - 1] == TAKT_NONE)
        count--;
    if (is_conv && !window_of(c, in[0], in[1], &s, attrs))
        return c->status;
    return takt_onnx_done(
        c, takt_graph_call(c->g, is_conv ? &takt_op_integer_conv : &takt_op_integer_matmul, count,
                           in, is_conv ? 4 : 0, attrs));
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

/* a * b / y, in f32; the vector b is along axis `from_end`. */
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

/* Inputs of QLinearMatMul and QLinearConv in the order of our ops. */
static bool is_whole_qlinear(takt_call *c, takt_id in[TAKT_INTEGER_INPUTS], bool is_conv)
{
    in[TAKT_INTEGER_A] = takt_onnx_in(c, 0);
    in[TAKT_INTEGER_B] = takt_onnx_in(c, 3);
    in[TAKT_INTEGER_A_ZERO] = takt_onnx_in(c, 2);
    in[TAKT_INTEGER_B_ZERO] = takt_onnx_in(c, 5);
    in[TAKT_INTEGER_BIAS] = is_conv ? takt_onnx_in(c, 8) : TAKT_NONE;
    in[TAKT_INTEGER_SCALE] = TAKT_NONE;
    in[TAKT_INTEGER_ZERO] = takt_onnx_in(c, 7);
    if (c->status != TAKT_OK || in[0] == TAKT_NONE || in[1] == TAKT_NONE ||
        in[TAKT_INTEGER_ZERO] == TAKT_NONE)
        return false;
    if (!is_byte(c, in[TAKT_INTEGER_ZERO]))
        return false;
    in[TAKT_INTEGER_SCALE] = factor(c, 1, 4, 6, 1);
    return in[TAKT_INTEGER_SCALE] != TAKT_NONE && is_whole(c, in, is_conv);
}

static takt_status qlinear_matmul(takt_call *c)
{
    takt_id in[TAKT_INTEGER_INPUTS];
    if (is_whole_qlinear(c, in, false))
        return whole(c, in, false);
    const takt_id a = shifted(c, takt_onnx_in(c, 0), takt_onnx_in(c, 2), 2);
    const takt_id b = shifted(c, takt_onnx_in(c, 3), takt_onnx_in(c, 5), 1);
    const takt_id sum = takt_matmul(c->g, a, b, false, false);
    return takt_onnx_done(c, requantized(c, sum, factor(c, 1, 4, 6, 1), takt_onnx_in(c, 7)));
}

static takt_status qlinear_conv(takt_call *c)
{
    takt_id in[TAKT_INTEGER_INPUTS];
    if (is_whole_qlinear(c, in, true))
        return whole(c, in, true);
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
    takt_id in[TAKT_INTEGER_INPUTS] = {takt_onnx_in(c, 0), takt_onnx_in(c, 1), takt_onnx_in(c, 2),
                                       takt_onnx_in(c, 3), TAKT_NONE,          TAKT_NONE,
                                       TAKT_NONE};
    if (c->status != TAKT_OK || in[0] == TAKT_NONE || in[1] == TAKT_NONE)
        return takt_onnx_refuse(c, "an input is missing");
    if (is_whole(c, in, is_conv))
        return whole(c, in, is_conv);
    const int rank = takt_onnx_type(c, 1)->rank;
    const takt_id a = shifted(c, takt_onnx_in(c, 0), takt_onnx_in(c, 2), is_conv ? 1 : 2);
    const takt_id b = shifted(c, takt_onnx_in(c, 1), takt_onnx_in(c, 3), is_conv ? rank : 1);
    return takt_onnx_done(c, is_conv ? convolved(c, a, b) : takt_matmul(c->g, a, b, false, false));
}

const takt_onnx_op takt_onnx_Integer = {
    .names = {"MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"}, .adapt = adapt};
