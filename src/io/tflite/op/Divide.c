/* Divide.c - FLOOR_DIV, SQUARED_DIFFERENCE, ATAN2, RSQRT, ABS and ADD_N. */
#include <math.h>

#include "io/tflite/quant.h"
#include "op/record/atan.h"

/* The quotient rounded down: one less for integers if the signs of remainder and divisor differ. */
static takt_id floor_div(takt_tfl_call *c, takt_id a, takt_id b)
{
    takt_graph *g = c->g;
    const takt_dtype dtype = takt_type_of(g, a)->dtype;
    if (takt_dtype_is_float(dtype))
        return takt_unary(g, &takt_op_floor, takt_div(g, a, b));
    const takt_id rest = takt_binary(g, &takt_op_mod, a, b); /* has the divisor's sign */
    return takt_div(g, takt_sub(g, a, rest), b);
}

static takt_id squared_difference(takt_tfl_call *c, takt_id a, takt_id b)
{
    const takt_tfl_tensor *ty = takt_tfl_tensor_out(c, 0);
    if (!takt_tfl_is_quantised(ty))
        return takt_unary(c->g, &takt_op_square, takt_sub(c->g, a, b));
    const takt_tfl_quant qa = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         qb = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 1)),
                         qy = takt_tfl_quant_of(c, ty);
    enum { BITS = 7 };
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const double twice = 2.0 * (double)(qa.scale > qb.scale ? qa.scale : qb.scale);
    const takt_id scale = takt_tfl_number(c, TAKT_I32, 1 << BITS);
    const takt_id x = takt_tfl_rescale(c, takt_mul(c->g, takt_tfl_centred(c, a, qa.zero), scale),
                                       takt_tfl_fixed_of((double)qa.scale / twice)),
                  y = takt_tfl_rescale(c, takt_mul(c->g, takt_tfl_centred(c, b, qb.zero), scale),
                                       takt_tfl_fixed_of((double)qb.scale / twice));
    const takt_id square = takt_unary(c->g, &takt_op_square, takt_sub(c->g, x, y));
    const double real = twice * twice / ((double)(1 << (2 * BITS)) * (double)qy.scale);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    return takt_tfl_saturate(c, takt_tfl_rescale(c, square, takt_tfl_fixed_of(real)), qy.zero,
                             takt_tfl_range_of(dtype), dtype);
}

/* The angle of (x, y): the arc tangent of their quotient, in the half-plane of x. */
static takt_id atan2_of(takt_tfl_call *c, takt_id y, takt_id x)
{
    takt_graph *g = c->g;
    const double pi = 3.14159265358979323846;
    const takt_id zero = takt_scalar_like(g, x, 0);
    const takt_id plain = takt_unary(g, &takt_op_atan, takt_div(g, y, x));
    const takt_id below = takt_binary(g, &takt_op_lt, y, zero);
    const takt_id half =
        takt_select(g, below, takt_scalar_like(g, x, -pi), takt_scalar_like(g, x, pi));
    const takt_id left = takt_add(g, plain, half);
    const takt_id both = takt_select(g, takt_binary(g, &takt_op_lt, x, zero), left, plain);
    const takt_id none = takt_binary(g, &takt_op_and, takt_binary(g, &takt_op_eq, x, zero),
                                     takt_binary(g, &takt_op_eq, y, zero));
    return takt_select(g, none, zero, both);
}

static takt_id absolute(takt_tfl_call *c, takt_id x)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    if (!takt_tfl_is_quantised(tx))
        return takt_unary(c->g, &takt_op_abs, x);
    const takt_tfl_quant a = takt_tfl_quant_of(c, tx), b = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    takt_id y = takt_unary(c->g, &takt_op_abs, takt_tfl_centred(c, x, a.zero));
    const float real = a.scale / b.scale;
    if (a.scale != b.scale)
        y = takt_tfl_rescale(c, y, takt_tfl_fixed_of((double)real));
    return takt_tfl_saturate(c, y, b.zero, takt_tfl_range_of(dtype), dtype);
}

static takt_id sum(takt_tfl_call *c)
{
    takt_id y = takt_tfl_need(c, 0);
    if (takt_tfl_is_quantised(takt_tfl_tensor_in(c, 0)))
        (void)takt_tfl_refuse(c, "quantised numbers");
    for (size_t i = 1; i < c->op->input_count && takt_tfl_good(c); i++)
        y = takt_add(c->g, y, takt_tfl_need(c, i));
    return y;
}

static takt_status adapt(takt_tfl_call *c)
{
    if (takt_tfl_is(c, "ADD_N"))
        return takt_tfl_done(c, sum(c));
    const takt_id a = takt_tfl_need(c, 0);
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_is(c, "ABS"))
        return takt_tfl_done(c, absolute(c, a));
    if (takt_tfl_is(c, "RSQRT")) {
        if (takt_tfl_is_quantised(takt_tfl_tensor_in(c, 0)))
            return takt_tfl_done(c, takt_tfl_root(c, true));
        return takt_tfl_done(c, takt_unary(c->g, &takt_op_rsqrt, a));
    }
    const takt_id b = takt_tfl_need(c, 1);
    if (!takt_tfl_good(c))
        return c->status;
    return takt_tfl_done(c, takt_tfl_is(c, "FLOOR_DIV") ? floor_div(c, a, b)
                            : takt_tfl_is(c, "ATAN2")   ? atan2_of(c, a, b)
                                                        : squared_difference(c, a, b));
}

const takt_tflite_op takt_tflite_Divide = {
    .names = {"FLOOR_DIV", "SQUARED_DIFFERENCE", "ATAN2", "RSQRT", "ABS", "ADD_N"}, .adapt = adapt};
