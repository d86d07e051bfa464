/* Softmax.c - SOFTMAX: floats, and bytes in fixed point.
 *
 * Bytes: with d the distance to the row's greatest, e^-d is a table of 256 numbers, and the op
 * integer_softmax does the rest.
 */
#include <math.h>

#include "io/tflite/quant.h"
#include "op/record/integer_softmax.h"

/* e^(-d * scale * beta) without integer bits for d from 0 to 255. */
static bool exponentials(takt_tfl_call *c, double real, int64_t *table)
{
    enum { INTEGER = 5 };
    const double most = 2147483647.0, factor = real * 67108864.0;
    const takt_tfl_fixed f = takt_tfl_fixed_of(factor < most ? factor : most);
    if (f.shift < 0)
        (void)takt_tfl_refuse(c, "a scale of %g", real);
    if (!takt_tfl_good(c))
        return false;
    const double radius = floor(31.0 * 67108864.0 / (double)(INT64_C(1) << f.shift));
    for (int d = 0; d < 256; d++)
        table[d] =
            (double)-d >= -radius ? takt_fx_exp(takt_tfl_fixed_scale(-d, f), INTEGER, 32) : 0;
    return true;
}

static takt_id number(takt_tfl_call *c, double value)
{
    return takt_tfl_number(c, TAKT_I32, value);
}

static takt_id bytes(takt_tfl_call *c, takt_id x, double real)
{
    const int64_t count = 256;
    int64_t table[256];
    if (!exponentials(c, real, table))
        return TAKT_NONE;
    const takt_named_attr dtype = {
        "dtype", takt_attr_dtype(takt_tfl_dtype_of(takt_tfl_tensor_out(c, 0)->type))};
    return takt_tfl_op2(c, &takt_op_integer_softmax, x,
                        takt_tfl_make_i(c, TAKT_I32, table, &count, 1), 1, &dtype);
}

/* ---- 16 bits ---- */

static double exponential(double x, const void *user)
{
    (void)user;
    return exp(x);
}

static double one_over(double x, const void *user)
{
    (void)user;
    return 1 / (1 + x);
}

/* Held to 16 bits. */
static takt_id held(takt_tfl_call *c, takt_id x)
{
    return takt_tfl_cast(c, takt_tfl_clip(c, x, -32768, 32767), TAKT_I16);
}

static takt_id sixteen(takt_tfl_call *c, takt_id x, double real)
{
    takt_graph *g = c->g;
    const int64_t last = -1;
    takt_tfl_points e, r;
    const float tenth = (float)(10.0 / 65535), unit = (float)(2.0 / 65535);
    takt_tfl_set_points(&e, (takt_tfl_quant){tenth, 32767}, unit, exponential, NULL);
    takt_tfl_set_points(&r, (takt_tfl_quant){(float)(1.0 / 65535), -32768}, unit, one_over, NULL);
    const takt_id greatest =
        takt_tfl_cast(c, takt_reduce_over(g, &takt_op_reduce_max, x, &last, 1, true), TAKT_I32);
    const takt_id apart = takt_sub(g, takt_tfl_cast(c, x, TAKT_I32), greatest);
    const takt_id scaled = takt_tfl_rescale(c, apart, takt_tfl_fixed_of(real / (10.0 / 65535.0)));
    const takt_id part = takt_tfl_cast(
        c, takt_tfl_all_between(c, held(c, takt_add(g, scaled, number(c, 32767))), &e), TAKT_I32);
    const takt_id sum = takt_reduce_over(g, &takt_op_reduce_sum, part, &last, 1, true);
    if (sum == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    int64_t powers[31];
    const int64_t count = 31;
    for (int k = 0; k < 31; k++)
        powers[k] = INT64_C(1) << k;
    const takt_id less =
        takt_binary(g, &takt_op_lt, sum, takt_tfl_make_i(c, TAKT_I32, powers, &count, 1));
    const takt_id zeros = takt_add(
        g,
        takt_reduce_over(g, &takt_op_reduce_sum, takt_tfl_cast(c, less, TAKT_I32), &last, 1, true),
        number(c, 1));
    const takt_id wide = takt_tfl_cast(c, sum, TAKT_I64), by = takt_tfl_cast(c, zeros, TAKT_I64);
    const takt_id up = takt_binary(g, &takt_op_shl, wide, takt_sub(g, by, takt_scalar_i64(g, 1)));
    const takt_id moved = takt_binary(g, &takt_op_shr, takt_add(g, up, takt_scalar_i64(g, 1 << 13)),
                                      takt_scalar_i64(g, 14));
    const takt_id place = takt_sub(g, takt_tfl_cast(c, moved, TAKT_I32), number(c, 98304));
    const takt_id over = takt_tfl_cast(c, takt_tfl_all_between(c, held(c, place), &r), TAKT_I64);
    const takt_id right = takt_sub(g, takt_scalar_i64(g, 31), by);
    const takt_id half = takt_binary(g, &takt_op_shl, takt_scalar_i64(g, 1),
                                     takt_sub(g, right, takt_scalar_i64(g, 1)));
    const takt_id y =
        takt_binary(g, &takt_op_shr,
                    takt_add(g, takt_mul(g, takt_tfl_cast(c, part, TAKT_I64), over), half), right);
    return takt_tfl_cast(c, takt_tfl_clip(c, y, 0, 32767), TAKT_I16);
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const float beta = takt_tfl_f32(c, 0, 0);
    const takt_type t = *takt_type_of(c->g, x);
    if (!takt_tfl_good(c))
        return c->status;
    if (t.rank < 1)
        return takt_tfl_refuse(c, "a scalar");
    if (takt_dtype_is_float(t.dtype)) {
        const takt_id scaled =
            beta == 1 ? x : takt_mul(c->g, x, takt_scalar_like(c->g, x, (double)beta));
        return takt_tfl_done(c, takt_tfl_op1(c, &takt_op_softmax, scaled, 1,
                                             &(takt_named_attr){"axis", takt_attr_i64(-1)}));
    }
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0));
    const takt_tfl_dtype to = takt_tfl_tensor_out(c, 0)->type;
    if (!takt_tfl_good(c))
        return c->status;
    if (t.dtype == TAKT_I16 && to == TAKT_TFL_INT16)
        return takt_tfl_done(c, sixteen(c, x, (double)(q.scale * beta)));
    if (t.dtype != TAKT_I8 && t.dtype != TAKT_U8)
        return takt_tfl_refuse(c, "an input of type %s", takt_dtype_name(t.dtype));
    if (to != TAKT_TFL_INT8 && to != TAKT_TFL_UINT8 && to != TAKT_TFL_INT16)
        return takt_tfl_refuse(c, "a result of type %s", takt_tfl_dtype_name(to));
    return takt_tfl_done(c, bytes(c, x, (double)beta * (double)q.scale));
}

const takt_tflite_op takt_tflite_Softmax = {.names = {"SOFTMAX"}, .options = 9, .adapt = adapt};
