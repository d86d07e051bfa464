/* table.c - functions of 8 and 16 bits as tables of all their values. */
#include <math.h>

#include "io/tflite/quant.h"

takt_id takt_tfl_look_up(takt_tfl_call *c, takt_id x, takt_dtype dtype, const int64_t *table)
{
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const int64_t entries = INT64_C(1) << takt_dtype_bits(takt_type_of(c->g, x)->dtype);
    return takt_binary(c->g, &takt_op_look_up, x, takt_tfl_make_i(c, dtype, table, &entries, 1));
}

/* LiteRT computes in floats what we compute in doubles and round: the results differ only where
 * both are on different sides of a half, which needs a real within 10^-7 of it. */
takt_id takt_tfl_table(takt_tfl_call *c, takt_tfl_function *f, const void *user)
{
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 0), *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant qx = takt_tfl_quant_of(c, tx), qy = takt_tfl_quant_of(c, ty);
    const takt_tfl_range from = takt_tfl_range_of(takt_tfl_dtype_of(tx->type)),
                         to = takt_tfl_range_of(takt_tfl_dtype_of(ty->type));
    const takt_id x = takt_tfl_need(c, 0);
    int64_t table[256];
    if (!takt_tfl_good(c) || from.high - from.low != 255)
        return TAKT_NONE;
    const float inverse = 1 / qy.scale;
    for (int32_t v = from.low; v <= from.high; v++) {
        const float real = qx.scale * (float)(v - qx.zero);
        const float y = (float)f((double)real, user);
        const float level = (float)takt_fx_round((double)(y * inverse)) + (float)qy.zero;
        table[v & 255] = level < (float)to.low    ? to.low
                         : level > (float)to.high ? to.high
                         : isnan(level)           ? to.low
                                                  : (int64_t)level;
    }
    return takt_tfl_look_up(c, x, takt_tfl_dtype_of(ty->type), table);
}

takt_id takt_tfl_gate(takt_tfl_call *c, takt_id x, bool is_tanh, int integer)
{
    enum { ENTRIES = 1 << 16 };
    int64_t *table = takt_tfl_get(c, ENTRIES, sizeof *table);
    for (int32_t v = -32768; table != NULL && v < 32768; v++)
        table[v & 0xffff] =
            is_tanh ? takt_fx_tanh(v, integer, 16) : takt_fx_logistic(v, integer, 16);
    return table == NULL ? TAKT_NONE : takt_tfl_look_up(c, x, TAKT_I16, table);
}

/* ---- 16 bits ---- */

/* logistic(i / 24) with 16 bits, moved by half of the linear interpolation error at the midpoint: a
 * sixteenth of the second derivative. */
static uint32_t point(uint32_t i)
{
    const double y = 1 / (1 + exp(-(double)i / 24)), bend = y * (1 - y) * (1 - 2 * y) / (24 * 24);
    return i < 255 ? (uint32_t)floor(65536 * (y - bend / 16) + 0.5) : 65535;
}

static int32_t logistic_at(int32_t x)
{
    const uint32_t size = (uint32_t)(x < 0 ? -(int64_t)x : x), at = size >> 9;
    const uint32_t y =
        at >= 255 ? 0x7fffu << 10 : (point(at) << 9) + (size & 0x1ff) * (point(at + 1) - point(at));
    const uint32_t all = x >= 0 ? y + (1 << 9) : (1u << 25) - y + (1 << 9) - 1;
    return (int16_t)(uint16_t)(all >> 10);
}

static int32_t tanh_at(int32_t x)
{
    const uint32_t size = (uint32_t)(x < 0 ? -(int64_t)x : x), at = size >> 8;
    const int32_t y =
        at >= 255 ? 0xffff << 8
                  : (int32_t)((point(at) << 8) + (size & 0xff) * (point(at + 1) - point(at)));
    const int32_t all = x >= 0 ? y - (1 << 23) + (1 << 7) : -y + (1 << 23) + (1 << 7) - 1;
    return (int16_t)(uint16_t)((uint32_t)(all >> 8));
}

/* x * multiplier / 2^shift represents real * 12288: powers of two are exact. */
static void wide_factor(double scale, bool is_tanh, int32_t *multiplier, int *shift)
{
    const double power = log2(scale), whole = takt_fx_round(power);
    const int left = 12 + (int)whole;
    *shift = 0;
    if (fabs(power - whole) < 1e-3 && (left == 0 || (is_tanh && left == 1))) {
        *multiplier = 3 << left;
        return;
    }
    double m = scale * 4096 * 3;
    while (m <= 32767.0 / 2 && *shift <= 30) {
        ++*shift;
        m *= 2;
    }
    *multiplier = m < INT32_MAX ? (int32_t)m : INT32_MAX;
}

int64_t *takt_tfl_scratch_table(takt_tfl_call *c)
{
    enum { ENTRIES = 1 << 16, BYTES = ENTRIES * 2 };
    takt_tfl_import *im = c->im;
    if (im->scratch_table == NULL)
        im->scratch_table = takt_tfl_get(c, ENTRIES, sizeof *im->scratch_table);
    if (im->scratch_table == NULL || im->tables < BYTES)
        return takt_tfl_get(c, SIZE_MAX, 1); /* refuses */
    im->tables -= BYTES;
    return im->scratch_table;
}

takt_id takt_tfl_wide_table(takt_tfl_call *c, bool is_tanh)
{
    enum { ENTRIES = 1 << 16 };
    const takt_tfl_quant q = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0));
    int64_t *table = takt_tfl_scratch_table(c);
    int32_t multiplier;
    int shift;
    if (table == NULL || !takt_tfl_good(c))
        return TAKT_NONE;
    if (q.zero != 0 || !(q.scale < 8)) {
        (void)takt_tfl_refuse(c, "a scale of %g and zero point %d", (double)q.scale, q.zero);
        return TAKT_NONE;
    }
    wide_factor((double)q.scale, is_tanh, &multiplier, &shift);
    const int64_t half = shift > 0 ? INT64_C(1) << (shift - 1) : 0;
    for (int32_t v = -32768; v < 32768; v++) {
        const int32_t x = (int32_t)((v * (int64_t)multiplier + half) >> shift);
        table[v & 0xffff] = is_tanh ? tanh_at(x) : logistic_at(x);
    }
    return takt_tfl_look_up(c, takt_tfl_need(c, 0), TAKT_I16, table);
}

static int32_t held(float x)
{
    return isnan(x) ? 0 : x < -32768 ? -32768 : x > 32767 ? 32767 : (int32_t)x;
}

static float rounded(float x)
{
    return (float)takt_fx_round((double)x);
}

/* Each point is moved by half of the linear interpolation error at the next midpoint. All in
 * floats, as LiteRT does it. */
void takt_tfl_set_points(takt_tfl_points *p, takt_tfl_quant in, float out_scale,
                         takt_tfl_function *f, const void *user)
{
    const float low = in.scale * (float)(-32768 - in.zero),
                high = in.scale * (float)(32767 - in.zero);
    const float step = (high - low) / 512, half = step / 2;
    const float scale = 65536 / (out_scale * 32767 - out_scale * -32768);
    for (int i = 0; i < 512; i++) {
        const float at = low + (float)i * step;
        const float here = (float)f((double)at, user), middle = (float)f((double)(at + half), user),
                    next = (float)f((double)(low + (float)(i + 1) * step), user);
        const float point = rounded(here * scale), line = rounded((next * scale + point) / 2),
                    miss = rounded((line - rounded(middle * scale)) / 2);
        p->at[i] = held(point - miss);
    }
    p->at[512] = held(rounded((float)f((double)high, user) * scale));
}

int32_t takt_tfl_between(const takt_tfl_points *p, int32_t x)
{
    const int32_t i = 256 + (x >> 7), part = x & 0x7f;
    const int16_t slope = (int16_t)(uint16_t)(p->at[i + 1] - p->at[i]); /* as theirs, it wraps */
    return (int16_t)(uint16_t)(p->at[i] + ((slope * part + 64) >> 7));
}

takt_id takt_tfl_all_between(takt_tfl_call *c, takt_id x, const takt_tfl_points *p)
{
    int64_t *table = takt_tfl_scratch_table(c);
    for (int32_t v = -32768; table != NULL && v < 32768; v++)
        table[v & 0xffff] = takt_tfl_between(p, v);
    return table == NULL ? TAKT_NONE : takt_tfl_look_up(c, x, TAKT_I16, table);
}

takt_id takt_tfl_points_table(takt_tfl_call *c, takt_tfl_function *f, const void *user)
{
    const takt_tfl_quant x = takt_tfl_quant_of(c, takt_tfl_tensor_in(c, 0)),
                         y = takt_tfl_quant_of(c, takt_tfl_tensor_out(c, 0));
    takt_tfl_points points;
    if (y.zero != 0)
        (void)takt_tfl_refuse(c, "a result of 16 bits with zero point %d", y.zero);
    if (!takt_tfl_good(c))
        return TAKT_NONE;
    takt_tfl_set_points(&points, x, y.scale, f, user);
    return takt_tfl_all_between(c, takt_tfl_need(c, 0), &points);
}
