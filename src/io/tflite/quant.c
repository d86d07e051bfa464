/* quant.c - scales, zero points, and arithmetic on quantised tensors. */
#include "io/tflite/quant.h"
#include "op/record/quantize_away.h"

#include <math.h>

bool takt_tfl_is_quantised(const takt_tfl_tensor *t)
{
    return t->scale_count > 0 &&
           (t->type == TAKT_TFL_INT8 || t->type == TAKT_TFL_UINT8 || t->type == TAKT_TFL_INT16);
}

takt_tfl_range takt_tfl_range_of(takt_dtype dtype)
{
    switch (dtype) {
    case TAKT_U4: return (takt_tfl_range){0, 15};
    case TAKT_I4: return (takt_tfl_range){-8, 7};
    case TAKT_U8: return (takt_tfl_range){0, 255};
    case TAKT_I8: return (takt_tfl_range){-128, 127};
    case TAKT_I16: return (takt_tfl_range){-32768, 32767};
    default: return (takt_tfl_range){INT32_MIN, INT32_MAX};
    }
}

float takt_tfl_scale_at(takt_tfl_call *c, const takt_tfl_tensor *t, size_t i)
{
    const float scale = i < t->scale_count ? t->scale[i] : 0;
    if (t->is_odd)
        (void)takt_tfl_refuse(c, "tensor %.*s is quantised in blocks", (int)t->name.length,
                              t->name.at);
    else if (t->scale_count == 0)
        (void)takt_tfl_refuse(c, "tensor %.*s has no scale", (int)t->name.length, t->name.at);
    else if (!(scale > 0) || isinf(scale))
        c->status = c->status != TAKT_OK
                        ? c->status
                        : takt_flat_fail(c->flat, t->at, "a scale of tensor %.*s is %g",
                                         (int)t->name.length, t->name.at, (double)scale);
    return scale > 0 && !isinf(scale) ? scale : 1;
}

takt_tfl_quant takt_tfl_quant_of(takt_tfl_call *c, const takt_tfl_tensor *t)
{
    const takt_tfl_range range = takt_tfl_range_of(takt_tfl_dtype_of(t->type));
    const float scale = takt_tfl_scale_at(c, t, 0);
    const int64_t zero = t->zero_count > 0 ? t->zero[0] : 0;
    if (t->scale_count > 1)
        (void)takt_tfl_refuse(c, "tensor %.*s has a scale for each channel", (int)t->name.length,
                              t->name.at);
    if (zero < range.low || zero > range.high) {
        if (takt_tfl_good(c))
            c->status = takt_flat_fail(
                c->flat, t->at, "zero point %lld of tensor %.*s is not a valid %s", (long long)zero,
                (int)t->name.length, t->name.at, takt_tfl_dtype_name(t->type));
        return (takt_tfl_quant){scale, 0};
    }
    return (takt_tfl_quant){scale, (int32_t)zero};
}

int32_t takt_tfl_level(takt_tfl_quant q, float value)
{
    const double at = takt_fx_round((double)(value / q.scale)) + q.zero;
    return at < INT32_MIN ? INT32_MIN : at > INT32_MAX ? INT32_MAX : (int32_t)at;
}

static int32_t higher(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t lower(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

takt_tfl_range takt_tfl_activation(takt_tfl_call *c, const takt_tfl_tensor *t, int activation)
{
    const takt_tfl_quant q = takt_tfl_quant_of(c, t);
    takt_tfl_range r = takt_tfl_range_of(takt_tfl_dtype_of(t->type));
    switch (activation) {
    case TAKT_TFL_NONE: return r;
    case TAKT_TFL_RELU: r.low = higher(r.low, takt_tfl_level(q, 0)); return r;
    case TAKT_TFL_RELU6:
        r.low = higher(r.low, takt_tfl_level(q, 0));
        r.high = lower(r.high, takt_tfl_level(q, 6));
        return r;
    case TAKT_TFL_RELU_N1:
        r.low = higher(r.low, takt_tfl_level(q, -1));
        r.high = lower(r.high, takt_tfl_level(q, 1));
        return r;
    default: (void)takt_tfl_refuse(c, "activation %d is fused into integers", activation);
    }
    return r;
}

/* ---- building ---- */

takt_id takt_tfl_centred(takt_tfl_call *c, takt_id x, int32_t zero)
{
    const takt_id wide = takt_tfl_cast(c, x, TAKT_I32);
    if (zero == 0 || wide == TAKT_NONE)
        return wide;
    return takt_sub(c->g, wide, takt_tfl_number(c, TAKT_I32, zero));
}

takt_id takt_tfl_rescale(takt_tfl_call *c, takt_id x, takt_tfl_fixed f)
{
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    const takt_id in[] = {x, takt_tfl_number(c, dtype, f.multiplier),
                          takt_tfl_number(c, dtype, f.shift)};
    return takt_graph_call(c->g, &takt_op_rescale, 3, in, 0, NULL);
}

takt_id takt_tfl_saturate(takt_tfl_call *c, takt_id x, int32_t zero, takt_tfl_range range,
                          takt_dtype dtype)
{
    if (x == TAKT_NONE)
        return x;
    if (zero != 0)
        x = takt_add(c->g, x, takt_scalar_like(c->g, x, zero));
    if (dtype != TAKT_I32)
        x = takt_tfl_clip(c, x, range.low, range.high);
    return takt_tfl_cast(c, x, dtype);
}

takt_id takt_tfl_bound(takt_tfl_call *c, takt_id x, takt_tfl_range range)
{
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    const takt_tfl_range all = takt_tfl_range_of(dtype);
    if (x != TAKT_NONE && range.low > all.low)
        x = takt_binary(c->g, &takt_op_max, x, takt_tfl_number(c, dtype, range.low));
    if (x != TAKT_NONE && range.high < all.high)
        x = takt_binary(c->g, &takt_op_min, x, takt_tfl_number(c, dtype, range.high));
    return x;
}

/* x minus its integer part is exact, so that only halves are rounded away from zero. */
takt_id takt_tfl_round_away(takt_tfl_call *c, takt_id x)
{
    takt_graph *g = c->g;
    if (x == TAKT_NONE)
        return x;
    const takt_id whole = takt_unary(g, &takt_op_trunc, x);
    const takt_id rest = takt_unary(g, &takt_op_abs, takt_sub(g, x, whole));
    const takt_id half = takt_scalar_like(g, x, 0.5);
    const takt_id up =
        takt_cast(g, takt_binary(g, &takt_op_ge, rest, half), takt_type_of(g, x)->dtype);
    return takt_add(g, whole, takt_mul(g, up, takt_unary(g, &takt_op_sign, x)));
}

/* A vector of scales, or zero points, reshaped along an axis of x. */
static takt_id along(takt_tfl_call *c, const takt_tfl_tensor *t, const takt_type *x, bool is_zero)
{
    const size_t n = t->scale_count;
    int64_t dims[TAKT_MAX_RANK];
    double *v = takt_tfl_get(c, n, sizeof *v);
    const int axis = takt_tfl_axis(c, t->axis, x->rank);
    if (v == NULL || !takt_tfl_good(c))
        return TAKT_NONE;
    if (x->dim[axis] != (int64_t)n) {
        c->status = takt_flat_fail(c->flat, t->at, "tensor %.*s has %zu scales for %lld channels",
                                   (int)t->name.length, t->name.at, n, (long long)x->dim[axis]);
        return TAKT_NONE;
    }
    for (int d = 0; d < x->rank; d++)
        dims[d] = d == axis ? x->dim[d] : 1;
    for (size_t i = 0; i < n; i++) {
        const int64_t zero = t->zero_count == 0 ? 0 : t->zero[i < t->zero_count ? i : 0];
        v[i] = is_zero ? (double)zero : (double)takt_tfl_scale_at(c, t, i);
    }
    return takt_tfl_make_f(c, TAKT_F32, v, dims, x->rank);
}

takt_id takt_tfl_quantise_away(takt_tfl_call *c, takt_id x, takt_id scale, bool is_product,
                               takt_tfl_grid to)
{
    const takt_named_attr attrs[] = {{"dtype", takt_attr_dtype(to.dtype)},
                                     {"zero", takt_attr_i64(to.zero)},
                                     {"low", takt_attr_i64(to.range.low)},
                                     {"high", takt_attr_i64(to.range.high)},
                                     {"times", takt_attr_bool(is_product)}};
    if (x == TAKT_NONE || scale == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    return takt_graph_call(c->g, &takt_op_quantize_away, 2, (const takt_id[]){x, scale}, 5, attrs);
}

takt_id takt_tfl_quantise(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *t)
{
    const takt_dtype dtype = takt_tfl_dtype_of(t->type);
    const takt_tfl_range range = takt_tfl_range_of(dtype);
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_type type = *takt_type_of(c->g, x);
    takt_id scale, zero;
    if (t->scale_count > 1) {
        scale = along(c, t, &type, false);
        zero = along(c, t, &type, true);
    } else {
        const takt_tfl_quant q = takt_tfl_quant_of(c, t);
        scale = takt_tfl_number(c, TAKT_F32, (double)q.scale);
        if (takt_dtype_bits(dtype) <= 16 && q.zero >= range.low && q.zero <= range.high)
            return takt_tfl_quantise_away(c, x, scale, false,
                                          (takt_tfl_grid){dtype, q.zero, range});
        zero = takt_tfl_number(c, TAKT_F32, q.zero);
    }
    const takt_id level = takt_add(c->g, takt_tfl_round_away(c, takt_div(c->g, x, scale)), zero);
    return takt_tfl_cast(c, takt_tfl_clip(c, level, range.low, range.high), dtype);
}

takt_id takt_tfl_dequantise(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *t)
{
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    if (t->scale_count <= 1) {
        const takt_tfl_quant q = takt_tfl_quant_of(c, t);
        const takt_id in[] = {x, takt_tfl_number(c, TAKT_F32, (double)q.scale),
                              takt_tfl_number(c, takt_type_of(c->g, x)->dtype, q.zero)};
        return takt_tfl_good(c) ? takt_graph_call(c->g, &takt_op_dequantize, 3, in, 0, NULL)
                                : TAKT_NONE;
    }
    const takt_type type = *takt_type_of(c->g, x);
    const takt_id scale = along(c, t, &type, false), zero = along(c, t, &type, true);
    return takt_mul(c->g, takt_sub(c->g, takt_tfl_cast(c, x, TAKT_F32), zero), scale);
}

takt_id takt_tfl_raised(takt_tfl_call *c, takt_id x, int32_t zero, int bits, takt_tfl_fixed f)
{
    int64_t table[256];
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_dtype dtype = takt_type_of(c->g, x)->dtype;
    if (!takt_tfl_is_byte(dtype)) {
        const takt_id up = takt_mul(c->g, takt_tfl_centred(c, x, zero),
                                    takt_tfl_number(c, TAKT_I32, (double)(1 << bits)));
        return takt_tfl_rescale(c, up, f);
    }
    const takt_tfl_range r = takt_tfl_range_of(dtype);
    for (int32_t v = r.low; v <= r.high; v++)
        table[v & 255] = takt_tfl_fixed_scale((v - zero) * (1 << bits), f);
    return takt_tfl_look_up(c, x, TAKT_I32, table);
}

takt_id takt_tfl_moved(takt_tfl_call *c, takt_id x, int32_t zero, takt_tfl_fixed f,
                       const takt_tfl_tensor *to, takt_tfl_range range)
{
    int64_t table[256];
    const takt_dtype dtype = takt_tfl_dtype_of(to->type);
    const int32_t to_zero = takt_tfl_quant_of(c, to).zero;
    if (x == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_dtype from = takt_type_of(c->g, x)->dtype;
    if (!takt_tfl_is_byte(from))
        return takt_tfl_saturate(c, takt_tfl_rescale(c, takt_tfl_centred(c, x, zero), f), to_zero,
                                 range, dtype);
    const takt_tfl_range r = takt_tfl_range_of(from);
    for (int32_t v = r.low; v <= r.high; v++) {
        const int64_t y = (int64_t)takt_tfl_fixed_scale(v - zero, f) + to_zero;
        table[v & 255] = y < range.low ? range.low : y > range.high ? range.high : y;
    }
    return takt_tfl_look_up(c, x, dtype, table);
}

takt_id takt_tfl_requantise(takt_tfl_call *c, takt_id x, const takt_tfl_tensor *from,
                            const takt_tfl_tensor *to)
{
    const takt_tfl_quant a = takt_tfl_quant_of(c, from), b = takt_tfl_quant_of(c, to);
    const takt_tfl_range range = takt_tfl_range_of(takt_tfl_dtype_of(to->type));
    return takt_tfl_moved(c, x, a.zero, takt_tfl_fixed_of((double)a.scale / (double)b.scale), to,
                          range);
}
