/* Normalise.c - LOG_SOFTMAX, L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION. */
#include "io/tflite/quant.h"

static takt_id unit(takt_tfl_call *c, takt_id x)
{
    takt_graph *g = c->g;
    const int64_t last = -1;
    const takt_id sum =
        takt_reduce_over(g, &takt_op_reduce_sum, takt_unary(g, &takt_op_square, x), &last, 1, true);
    const takt_id size = takt_unary(g, &takt_op_sqrt, sum);
    if (size == TAKT_NONE)
        return size;
    const takt_id least = takt_scalar_like(g, size, 1e-6);
    return takt_tfl_activate(c, takt_div(g, x, takt_binary(g, &takt_op_max, size, least)),
                             takt_tfl_u8(c, 0, 0));
}

/* Normalises each channel by its neighbours: sums of squares are a product with a band matrix of
 * ones. */
static takt_id local(takt_tfl_call *c, takt_id x, const takt_type *t)
{
    takt_graph *g = c->g;
    const int64_t radius = takt_tfl_i32(c, 0, 0), n = t->dim[t->rank - 1];
    const float bias = takt_tfl_f32(c, 1, 0), alpha = takt_tfl_f32(c, 2, 0),
                beta = takt_tfl_f32(c, 3, 0);
    const int64_t dims[] = {n, n};
    double *v = n <= 1 << 12 && radius >= 0 ? takt_tfl_get(c, (size_t)(n * n), sizeof *v) : NULL;
    if (v == NULL) {
        (void)takt_tfl_refuse(c, "%lld channels", (long long)n);
        return TAKT_NONE;
    }
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t apart = i / n - i % n; /* LiteRT omits the last of the window */
        v[i] = apart < radius && -apart <= radius ? 1 : 0;
    }
    const takt_id sums = takt_matmul(g, takt_unary(g, &takt_op_square, x),
                                     takt_tfl_make_f(c, TAKT_F32, v, dims, 2), false, false);
    const takt_id base = takt_add(g, takt_mul(g, sums, takt_tfl_number(c, TAKT_F32, (double)alpha)),
                                  takt_tfl_number(c, TAKT_F32, (double)bias));
    return takt_mul(
        g, x, takt_binary(g, &takt_op_pow, base, takt_tfl_number(c, TAKT_F32, -(double)beta)));
}

/* Of bytes in floats: LiteRT's fixed point is exact to far less than a step of the result, so that
 * both differ by one step where a value lies between two. */
static takt_id log_softmax(takt_tfl_call *c, takt_id x)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0);
    const takt_named_attr attr = {"axis", takt_attr_i64(-1)};
    if (!takt_tfl_is_quantised(tx))
        return takt_tfl_op1(c, &takt_op_log_softmax, x, 1, &attr);
    const takt_id real = takt_tfl_dequantise(c, x, tx);
    return real == TAKT_NONE
               ? real
               : takt_tfl_quantise(c, takt_tfl_op1(c, &takt_op_log_softmax, real, 1, &attr),
                                   takt_tfl_tensor_out(c, 0));
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_type t = *takt_type_of(c->g, x);
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_is(c, "LOG_SOFTMAX") && t.rank > 0)
        return takt_tfl_done(c, log_softmax(c, x));
    if (!takt_dtype_is_float(t.dtype) || t.rank < 1)
        return takt_tfl_refuse(c, "quantised numbers");
    if (takt_tfl_is(c, "L2_NORMALIZATION"))
        return takt_tfl_done(c, unit(c, x));
    return takt_tfl_done(c, local(c, x, &t));
}

const takt_tflite_op takt_tflite_Normalise = {
    .names = {"LOG_SOFTMAX", "L2_NORMALIZATION", "LOCAL_RESPONSE_NORMALIZATION"}, .adapt = adapt};
