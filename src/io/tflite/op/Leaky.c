/* Leaky.c - LEAKY_RELU, PRELU and HARD_SWISH. */
#include "io/tflite/quant.h"

static takt_id leaky(takt_tfl_call *c, takt_id x)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    const float alpha = takt_tfl_f32(c, 0, 0);
    takt_graph *g = c->g;
    if (!takt_tfl_is_quantised(tx))
        return takt_tfl_op1(c, &takt_op_leaky_relu, x, 1,
                            &(takt_named_attr){"slope", takt_attr_f64((double)alpha)});
    const takt_tfl_quant a = takt_tfl_quant_of(c, tx), b = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (!(alpha >= 0))
        (void)takt_tfl_refuse(c, "a slope of %g", (double)alpha);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const float slope = a.scale * alpha, below = slope / b.scale, above = a.scale / b.scale;
    const takt_id v = takt_tfl_centred(c, x, a.zero);
    const takt_id y =
        takt_select(g, takt_binary(g, &takt_op_ge, v, takt_tfl_number(c, TAKT_I32, 0)),
                    takt_tfl_rescale(c, v, takt_tfl_fixed_of((double)above)),
                    takt_tfl_rescale(c, v, takt_tfl_fixed_of((double)below)));
    return takt_tfl_saturate(c, y, b.zero, takt_tfl_range_of(dtype), dtype);
}

static takt_id prelu(takt_tfl_call *c, takt_id x, takt_id alpha)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0),
                          *ta = takt_tfl_tensor_in(c, 1);
    takt_graph *g = c->g;
    const takt_id zero = takt_tfl_number(c, takt_type_of(g, x)->dtype, 0);
    if (!takt_tfl_is_quantised(tx))
        return takt_select(g, takt_binary(g, &takt_op_ge, x, zero), x, takt_mul(g, x, alpha));
    const takt_tfl_quant a = takt_tfl_quant_of(c, tx), b = takt_tfl_quant_of(c, ty),
                         s = takt_tfl_quant_of(c, ta);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const float both = a.scale * s.scale, below = both / b.scale, above = a.scale / b.scale;
    const takt_id v = takt_tfl_centred(c, x, a.zero), w = takt_tfl_centred(c, alpha, s.zero);
    const takt_id y =
        takt_select(g, takt_binary(g, &takt_op_ge, v, takt_tfl_number(c, TAKT_I32, 0)),
                    takt_tfl_rescale(c, v, takt_tfl_fixed_of((double)above)),
                    takt_tfl_rescale(c, takt_mul(g, v, w), takt_tfl_fixed_of((double)below)));
    return takt_tfl_saturate(c, y, b.zero, takt_tfl_range_of(dtype), dtype);
}

/* ---- HARD_SWISH: x * relu6(x + 3) / 6, of bytes in 16 bits ---- */

static int32_t sixteen(int64_t x)
{
    return x < -32768 ? -32768 : x > 32767 ? 32767 : (int32_t)x;
}

/* High half of 2 * a * b of 16 bits, not rounded. */
static int32_t high(int32_t a, int32_t b)
{
    return a == b && a == -32768 ? 32767 : (int16_t)(a * b / (1 << 15));
}

/* A multiplier of 32 bits as one of 16. */
static int32_t narrowed(int32_t multiplier)
{
    const int32_t half = 1 << 15;
    return multiplier >= INT32_MAX - half ? 32767 : (multiplier + half) >> 16;
}

static int64_t swish_at(int32_t level, takt_tfl_fixed out, takt_tfl_fixed rel, int32_t zero,
                        takt_tfl_range r)
{
    const int32_t v = (int32_t)((uint32_t)level << 7); /* seven bits more */
    const int32_t scaled = (int32_t)takt_fx_mul(v, narrowed(out.multiplier), 16);
    int32_t w = v;
    if (rel.shift > 0)
        w = sixteen((int64_t)w << (rel.shift - 1));
    w = (int32_t)takt_fx_mul(w, narrowed(rel.multiplier), 16);
    if (rel.shift > 0)
        w = sixteen((int64_t)w << 1);
    if (rel.shift < 0)
        w = (int32_t)takt_fx_divide(w, -rel.shift);
    w = (w + (1 << 15)) >> 1; /* from -1..1 to 0..1 */
    const int32_t y = high(w, scaled);
    const int64_t at = takt_fx_divide(y, -out.shift) + zero;
    return at < r.low ? r.low : at > r.high ? r.high : at;
}

static takt_id swish(takt_tfl_call *c, takt_id x)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    int64_t table[256];
    if (!takt_tfl_is_quantised(tx)) {
        takt_graph *g = c->g;
        const takt_id gate = takt_unary(g, &takt_op_relu6, takt_add_scalar(g, x, 3));
        return takt_mul(g, takt_mul(g, x, gate), takt_scalar_like(g, x, 1.0 / 6));
    }
    const takt_tfl_quant a = takt_tfl_quant_of(c, tx), b = takt_tfl_quant_of(c, ty);
    const takt_dtype dtype = takt_tfl_dtype_of(ty->type);
    const takt_tfl_range r = takt_tfl_range_of(dtype),
                         from = takt_tfl_range_of(takt_tfl_dtype_of(tx->type));
    const float fine = (1.0f / 128.0f) * a.scale, real = fine / b.scale, three = 3.0f / 32768.0f;
    const takt_tfl_fixed out = takt_tfl_fixed_of((double)real),
                         rel = takt_tfl_fixed_of((double)(fine / three));
    if (tx->type == TAKT_TFL_INT16 || out.shift > 0 || rel.shift > 15)
        (void)takt_tfl_refuse(c, "scales of %g and %g", (double)a.scale, (double)b.scale);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    for (int32_t v = from.low; v <= from.high; v++)
        table[v & 255] = swish_at(v - a.zero, out, rel, b.zero, r);
    return takt_tfl_look_up(c, x, dtype, table);
}

static takt_status adapt(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    if (!takt_tfl_good(c))
        return c->status;
    if (takt_tfl_is(c, "LEAKY_RELU"))
        return takt_tfl_done(c, leaky(c, x));
    if (takt_tfl_is(c, "HARD_SWISH"))
        return takt_tfl_done(c, swish(c, x));
    const takt_id alpha = takt_tfl_need(c, 1);
    return takt_tfl_done(c, alpha == TAKT_NONE ? alpha : prelu(c, x, alpha));
}

const takt_tflite_op takt_tflite_Leaky = {.names = {"LEAKY_RELU", "PRELU", "HARD_SWISH"},
                                          .adapt = adapt};
