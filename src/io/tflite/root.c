/* root.c - SQRT and RSQRT of bytes as tables: every level is computed as LiteRT does it. */
#include <math.h>

#include "io/tflite/quant.h"

/* Levels below the zero point stand for negative numbers, which LiteRT refuses while it runs: here
 * they give what 0 gives. */
static int32_t level(int32_t value)
{
    return value > 0 ? value : 0;
}

static int32_t root(int32_t value, float in, float inverse)
{
    const float real = sqrtf(in * (float)level(value)) * inverse;
    return !(real > 0) ? 0 : real < 0x1p31F ? (int32_t)real : INT32_MAX; /* 0 * infinity: 0 */
}

/* `scale`: of 1 / sqrt(level), in levels of the result. */
static int32_t inverse_root(int32_t value, takt_tfl_fixed scale)
{
    enum { MORE = 20 }; /* bits that the root keeps behind the point */
    takt_tfl_fixed f = takt_fx_inverse_root(value);
    f.shift += MORE;
    scale.shift -= MORE;
    return takt_tfl_fixed_scale(takt_tfl_fixed_scale(1, f), scale);
}

takt_id takt_tfl_root(takt_tfl_call *c, bool is_inverse)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant qx = takt_tfl_quant_of(c, tx), qy = takt_tfl_quant_of(c, ty);
    const takt_id x = takt_tfl_need(c, 0);
    int64_t table[256];
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    if (tx->type != TAKT_TFL_INT8 || ty->type != TAKT_TFL_INT8) {
        (void)takt_tfl_refuse(c, "quantised numbers other than bytes with a sign");
        return TAKT_NONE;
    }
    const takt_tfl_fixed scale = takt_tfl_fixed_of(1 / (sqrt((double)qx.scale) * (double)qy.scale));
    const float inverse = 1 / qy.scale;
    for (int32_t v = -128; v < 128; v++) {
        const int32_t value = v - qx.zero;
        const bool is_most = is_inverse && value <= 0;
        const int64_t y = is_most      ? 127
                          : is_inverse ? (int64_t)inverse_root(value, scale) + qy.zero
                                       : (int64_t)root(value, qx.scale, inverse) + qy.zero;
        table[v & 255] = y < -128 ? -128 : y > 127 ? 127 : y;
    }
    return takt_tfl_look_up(c, x, TAKT_I8, table);
}
