/* Quantize.c - QUANTIZE, DEQUANTIZE, DENSIFY and FAKE_QUANT. */
#include <math.h>

#include "io/tflite/quant.h"

static takt_id quantised(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    const takt_tfl_tensor *to = takt_tfl_tensor_out(c, 0);
    if (x == TAKT_NONE)
        return x;
    return takt_dtype_is_float(takt_type_of(c->g, x)->dtype)
               ? takt_tfl_quantise(c, takt_tfl_cast(c, x, TAKT_F32), to)
               : takt_tfl_requantise(c, x, takt_tfl_tensor_in(c, 0), to);
}

static takt_id dequantised(takt_tfl_call *c)
{
    const takt_id x = takt_tfl_need(c, 0);
    if (x == TAKT_NONE)
        return x;
    if (takt_dtype_is_float(takt_type_of(c->g, x)->dtype))
        return takt_tfl_cast(c, x, takt_tfl_dtype_of(takt_tfl_tensor_out(c, 0)->type));
    return takt_tfl_dequantise(c, x, takt_tfl_tensor_in(c, 0));
}

/* Shifts range and step so that 0 is on the grid, as training does. */
static takt_id simulated(takt_tfl_call *c)
{
    enum { MIN, MAX, BITS, NARROW };
    const float low = takt_tfl_f32(c, MIN, 0), high = takt_tfl_f32(c, MAX, 0);
    const int bits = takt_tfl_i32(c, BITS, 0);
    const takt_id x = takt_tfl_need(c, 0);
    if (bits < 2 || bits > 16 || !(low <= 0) || !(high >= 0) || !(low < high))
        (void)takt_tfl_refuse(c, "%d bits from %g to %g", bits, (double)low, (double)high);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    const int first = takt_tfl_u8(c, NARROW, 0) != 0 ? 1 : 0, last = (1 << bits) - 1;
    const float scale = (high - low) / (float)(last - first);
    const float from = (float)first - low / scale;
    const float zero = from < (float)first  ? (float)first
                       : from > (float)last ? (float)last
                                            : (float)takt_fx_round((double)from);
    const float least = ((float)first - zero) * scale, most = ((float)last - zero) * scale;
    const float inverse = 1 / scale;
    takt_graph *g = c->g;
    const takt_id kept = takt_tfl_clip(c, x, (double)least, (double)most);
    const takt_id from_least = takt_sub(g, kept, takt_tfl_number(c, TAKT_F32, (double)least));
    const takt_id level = takt_tfl_round_away(
        c, takt_mul(g, from_least, takt_tfl_number(c, TAKT_F32, (double)inverse)));
    return takt_add(g, takt_mul(g, level, takt_tfl_number(c, TAKT_F32, (double)scale)),
                    takt_tfl_number(c, TAKT_F32, (double)least));
}

static takt_status adapt(takt_tfl_call *c)
{
    if (c->floats != NULL) /* inputs are floats already, and results are quantised */
        return takt_tfl_done(c, takt_tfl_need(c, 0));
    if (takt_tfl_is(c, "QUANTIZE"))
        return takt_tfl_done(c, quantised(c));
    if (takt_tfl_is(c, "DEQUANTIZE"))
        return takt_tfl_done(c, dequantised(c));
    if (takt_tfl_is(c, "FAKE_QUANT"))
        return takt_tfl_done(c, simulated(c));
    return takt_tfl_done(c, takt_tfl_need(c, 0)); /* constants are dense here already */
}

const takt_tflite_op takt_tflite_Quantize = {
    .names = {"QUANTIZE", "DEQUANTIZE", "DENSIFY", "FAKE_QUANT"}, .adapt = adapt};
