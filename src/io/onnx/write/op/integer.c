/* integer.c - integer_matmul and integer_conv as QLinearMatMul and QLinearConv, or as MatMulInteger
 * and ConvInteger with the steps after the sum.
 *
 * QLinear… have three scales where ours has their quotient: ours becomes that of the weights, the
 * others are 1, which changes no bit. Only forms known to run in other runtimes are written, not
 * all that the standard allows.
 */
#include "op/util/integer.h"
#include "io/onnx/write/rescale.h"
#include "op/util/conv.h"

static bool has(const takt_node *n, size_t i)
{
    return i < n->in_count && n->in[i] != TAKT_NONE;
}

static int rank_of(const takt_emit *e, const takt_node *n, size_t i)
{
    return has(n, i) ? takt_emit_type(e, i)->rank : 0;
}

static void window(takt_emit *e, const takt_node *n)
{
    const takt_attr *a = n->attr;
    if (n->op != &takt_op_integer_conv)
        return;
    takt_emit_ints(e, "strides", a[TAKT_CONV_STRIDE].i64s, a[TAKT_CONV_STRIDE].count);
    takt_emit_ints(e, "dilations", a[TAKT_CONV_DILATION].i64s, a[TAKT_CONV_DILATION].count);
    takt_emit_ints(e, "pads", a[TAKT_CONV_PAD].i64s, a[TAKT_CONV_PAD].count);
    takt_emit_i(e, "group", a[TAKT_CONV_GROUPS].i64);
}

/* The zero point that QLinear… requires, 0 if ours was left out. */
static const char *zero_of(takt_emit *e, const takt_node *n, size_t i)
{
    if (has(n, i))
        return takt_emit_in(e, i);
    return takt_emit_scalar(e, takt_emit_type(e, i - TAKT_INTEGER_A_ZERO)->dtype, 0);
}

/* One zero point for all weights; NULL if they differ, or are not known. */
static const char *common_zero(takt_emit *e, const takt_node *n)
{
    if (rank_of(e, n, TAKT_INTEGER_B_ZERO) == 0)
        return zero_of(e, n, TAKT_INTEGER_B_ZERO);
    const takt_tensor *t = takt_emit_constant(e, TAKT_INTEGER_B_ZERO);
    const size_t count = t != NULL ? takt_tensor_count(t) : 0;
    if (count == 0)
        return NULL;
    const takt_dtype dtype = t->type.dtype;
    const int64_t first = takt_dtype_get_i(dtype, takt_tensor_data(t), 0);
    for (size_t i = 1; i < count; i++)
        if (takt_dtype_get_i(dtype, takt_tensor_data(t), i) != first)
            return NULL;
    return takt_emit_scalar(e, dtype, (double)first);
}

/* ---- QLinearMatMul, QLinearConv ---- */

static bool is_qlinear(const takt_emit *e, const takt_node *n, bool is_conv)
{
    const takt_dtype a = takt_emit_type(e, 0)->dtype, b = takt_emit_type(e, 1)->dtype;
    const int zeros = rank_of(e, n, TAKT_INTEGER_B_ZERO),
              scales = rank_of(e, n, TAKT_INTEGER_SCALE);
    return has(n, TAKT_INTEGER_SCALE) && has(n, TAKT_INTEGER_ZERO) && n->type[0].dtype == a &&
           !(a == TAKT_I8 && b == TAKT_U8) && (is_conv || !has(n, TAKT_INTEGER_BIAS)) &&
           (zeros == 0 || zeros == scales) && (is_conv || takt_emit_type(e, 0)->rank >= 2);
}

static void qlinear(takt_emit *e, const takt_node *n, bool is_conv, const char *b_zero)
{
    const char *one = takt_emit_scalar(e, TAKT_F32, 1);
    const char *const in[] = {takt_emit_in(e, TAKT_INTEGER_A),
                              one,
                              zero_of(e, n, TAKT_INTEGER_A_ZERO),
                              takt_emit_in(e, TAKT_INTEGER_B),
                              takt_emit_in(e, TAKT_INTEGER_SCALE),
                              b_zero,
                              one,
                              takt_emit_in(e, TAKT_INTEGER_ZERO),
                              is_conv ? takt_emit_in(e, TAKT_INTEGER_BIAS) : ""};
    window(e, n);
    takt_emit_call(e, is_conv ? "QLinearConv" : "QLinearMatMul", e->out, is_conv ? 9 : 8, in);
}

/* ---- MatMulInteger, ConvInteger ---- */

/* Input `i`, reshaped so that a vector runs along the channels. */
static const char *along(takt_emit *e, const takt_node *n, size_t i)
{
    const takt_type *t = takt_emit_type(e, i);
    int64_t dims[TAKT_MAX_RANK];
    const int rank = n->op == &takt_op_integer_conv ? n->type[0].rank - 1 : 1;
    if (t->rank == 0 || rank == 1)
        return takt_emit_in(e, i);
    for (int d = 0; d < rank; d++)
        dims[d] = d == 0 ? -1 : 1;
    return takt_emit_2(e, "Reshape", takt_emit_fresh(e), takt_emit_in(e, i),
                       takt_emit_vector(e, dims, (size_t)rank));
}

/* Channels last to channels second, or back. */
static const char *transposed(takt_emit *e, const char *x, int rank, bool is_back)
{
    int64_t perm[TAKT_MAX_RANK];
    for (int d = 0; d < rank; d++)
        perm[d] = is_back ? (d == 0          ? 0
                             : d == rank - 1 ? 1
                                             : d + 1)
                          : (d == 0   ? 0
                             : d == 1 ? rank - 1
                                      : d - 1);
    return takt_emit_transpose(e, takt_emit_fresh(e), x, perm, rank);
}

/* The sum of a convolution with channels last, and its bias: vectors are on the last axis. */
static void last_channels(takt_emit *e, const takt_node *n, const char *b_zero, const char *out)
{
    const int rank = n->type[0].rank;
    const bool adds = has(n, TAKT_INTEGER_BIAS);
    const char *const in[] = {transposed(e, takt_emit_in(e, 0), rank, false),
                              transposed(e, takt_emit_in(e, 1), rank, false),
                              zero_of(e, n, TAKT_INTEGER_A_ZERO), b_zero};
    window(e, n);
    const char *y = takt_emit_call(e, "ConvInteger", takt_emit_fresh(e), 4, in);
    y = transposed(e, y, rank, true);
    if (adds)
        takt_emit_2(e, "Add", out, y, takt_emit_in(e, TAKT_INTEGER_BIAS));
    else
        takt_emit_1(e, "Identity", out, y);
}

/* Same for a matrix product. */
static void plain_sum(takt_emit *e, const takt_node *n, const char *b_zero, const char *out)
{
    const bool adds = has(n, TAKT_INTEGER_BIAS);
    const char *const in[] = {takt_emit_in(e, 0), takt_emit_in(e, 1),
                              zero_of(e, n, TAKT_INTEGER_A_ZERO), b_zero};
    const char *y = takt_emit_call(e, "MatMulInteger", adds ? takt_emit_fresh(e) : out, 4, in);
    if (adds)
        takt_emit_2(e, "Add", out, y, takt_emit_in(e, TAKT_INTEGER_BIAS));
}

/* Fixed point: the shift is a constant, and vectors are on the last axis. */
static bool fixed(takt_emit *e, const takt_node *n, bool is_conv, const char *b_zero)
{
    const bool is_last = is_conv && n->attr[TAKT_CONV_LAYOUT].i64 != 0;
    const bool is_signed = n->type[0].dtype == TAKT_I8;
    if ((is_conv && !is_last) || !has(n, TAKT_INTEGER_SHIFT) || b_zero == NULL ||
        takt_emit_constant(e, TAKT_INTEGER_SHIFT) == NULL)
        return false;
    const char *sum = takt_emit_fresh(e);
    if (is_conv)
        last_channels(e, n, b_zero, sum);
    else
        plain_sum(e, n, b_zero, sum);
    const char *y =
        takt_emit_rescaled(e, sum, TAKT_INTEGER_SCALE, TAKT_INTEGER_SHIFT, takt_emit_fresh(e));
    const char *zero =
        takt_emit_cast(e, takt_emit_fresh(e), takt_emit_in(e, TAKT_INTEGER_ZERO), TAKT_I32);
    y = takt_emit_2(e, "Add", takt_emit_fresh(e), y, zero);
    y = takt_emit_3(e, "Clip", takt_emit_fresh(e), y,
                    takt_emit_scalar(e, TAKT_I32, is_signed ? -128 : 0),
                    takt_emit_scalar(e, TAKT_I32, is_signed ? 127 : 255));
    takt_emit_cast(e, e->out, y, n->type[0].dtype);
    return true;
}

static void summed(takt_emit *e, const takt_node *n, bool is_conv, const char *b_zero)
{
    const bool adds = has(n, TAKT_INTEGER_BIAS), scales = has(n, TAKT_INTEGER_SCALE),
               rounds = has(n, TAKT_INTEGER_ZERO);
    const char *const in[] = {takt_emit_in(e, 0), takt_emit_in(e, 1),
                              zero_of(e, n, TAKT_INTEGER_A_ZERO), b_zero};
    window(e, n);
    const char *y = takt_emit_call(e, is_conv ? "ConvInteger" : "MatMulInteger",
                                   adds || scales ? takt_emit_fresh(e) : e->out, 4, in);
    if (adds)
        y = takt_emit_2(e, "Add", scales ? takt_emit_fresh(e) : e->out, y,
                        along(e, n, TAKT_INTEGER_BIAS));
    if (!scales)
        return;
    y = takt_emit_cast(e, takt_emit_fresh(e), y, TAKT_F32);
    y = takt_emit_2(e, "Mul", rounds ? takt_emit_fresh(e) : e->out, y,
                    along(e, n, TAKT_INTEGER_SCALE));
    if (!rounds)
        return;
    takt_emit_3(e, "QuantizeLinear", e->out, y, takt_emit_scalar(e, TAKT_F32, 1),
                takt_emit_in(e, TAKT_INTEGER_ZERO));
}

static bool emit(takt_emit *e, const takt_node *n)
{
    const bool is_conv = n->op == &takt_op_integer_conv;
    const bool is_last = is_conv && n->attr[TAKT_CONV_LAYOUT].i64 != 0;
    const bool is_vector = rank_of(e, n, TAKT_INTEGER_B_ZERO) == 1;
    const bool is_other = takt_integer_is_other(e->frame->g, n);
    if (is_last && !is_other && has(n, TAKT_INTEGER_SCALE))
        return false;
    if (!is_last && !is_other && is_qlinear(e, n, is_conv)) {
        qlinear(e, n, is_conv, zero_of(e, n, TAKT_INTEGER_B_ZERO));
        return true;
    }
    /* Other runtimes allow only one zero point for all weights of a convolution. */
    const char *b_zero =
        is_conv && is_vector ? common_zero(e, n) : zero_of(e, n, TAKT_INTEGER_B_ZERO);
    if (is_other)
        return fixed(e, n, is_conv, b_zero);
    if (b_zero == NULL)
        return false;
    if (is_last)
        last_channels(e, n, b_zero, e->out);
    else
        summed(e, n, is_conv, b_zero);
    return true;
}

const takt_emitter takt_emit_op_integer = {
    .ops = {&takt_op_integer_matmul, &takt_op_integer_conv},
    .emit = emit,
};
