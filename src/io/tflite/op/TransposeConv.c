/* TransposeConv.c - TRANSPOSE_CONV: the shape of the result is an input; weights [out, h, w, in].
 */
#include "io/tflite/window.h"
#include "op/util/window.h"

/* The gradient of conv with respect to x: w is [in, h, w, out] for our op. */
static takt_id spread(takt_tfl_call *c, takt_id x, takt_id k, const takt_tfl_window *w,
                      const int64_t dims[4])
{
    static const int64_t perm[] = {3, 1, 2, 0};
    takt_named_attr attrs[TAKT_TFL_CONV_ATTRS + 1];
    takt_tfl_window_attrs(w, 1, attrs);
    attrs[TAKT_TFL_CONV_ATTRS] = (takt_named_attr){"shape", takt_attr_shape(dims, 4)};
    return takt_tfl_op2(c, &takt_op_conv_dx, x, takt_transpose(c->g, k, perm, 4),
                        TAKT_TFL_CONV_ATTRS + 1, attrs);
}

static takt_id integers(takt_tfl_call *c, takt_id x, takt_id k, const takt_tfl_window *w,
                        const int64_t dims[4])
{
    takt_graph *g = c->g;
    const takt_tfl_tensor *tx = takt_tfl_tensor_in(c, 2), *tk = takt_tfl_tensor_in(c, 1),
                          *ty = takt_tfl_tensor_out(c, 0);
    const takt_tfl_quant qx = takt_tfl_quant_of(c, tx), qy = takt_tfl_quant_of(c, ty);
    const bool is_wide = tx->type == TAKT_TFL_INT16;
    const size_t n = (size_t)dims[3];
    int64_t *m = takt_tfl_get(c, n, sizeof *m), *s = takt_tfl_get(c, n, sizeof *s);
    if (tk->scale_count != 1 && tk->scale_count != n)
        (void)takt_tfl_refuse(c, "%zu scales for %zu channels", tk->scale_count, n);
    if (m == NULL || s == NULL || !takt_tfl_good(c))
        return TAKT_NONE;
    for (size_t i = 0; i < n; i++) {
        const float scale = takt_tfl_scale_at(c, tk, tk->scale_count > 1 ? i : 0);
        const takt_tfl_fixed f =
            takt_tfl_fixed_of((double)qx.scale * (double)scale / (double)qy.scale);
        m[i] = f.multiplier;
        s[i] = f.shift;
    }
    const takt_dtype wide = is_wide ? TAKT_I64 : TAKT_I32;
    const takt_id zero = takt_tfl_number(c, TAKT_F64, tk->zero_count > 0 ? (double)tk->zero[0] : 0);
    const takt_id sum =
        takt_tfl_cast(c,
                      spread(c, takt_tfl_cast(c, takt_tfl_centred(c, x, qx.zero), TAKT_F64),
                             takt_sub(g, takt_tfl_cast(c, k, TAKT_F64), zero), w, dims),
                      wide);
    const takt_id bias = takt_tfl_in(c, 3);
    const takt_id all = bias == TAKT_NONE || sum == TAKT_NONE
                            ? sum
                            : takt_add(g, sum, takt_tfl_cast(c, bias, wide));
    const int64_t dim = dims[3];
    const takt_id in[] = {all, takt_tfl_make_i(c, wide, m, &dim, 1),
                          takt_tfl_make_i(c, wide, s, &dim, 1)};
    if (all == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    return takt_tfl_saturate(c, takt_graph_call(g, &takt_op_rescale, 3, in, 0, NULL), qy.zero,
                             takt_tfl_activation(c, ty, takt_tfl_u8(c, 3, 0)),
                             takt_tfl_dtype_of(ty->type));
}

/* Float input with 8-bit weights: each sample is quantised at run time. Sums of whole numbers below
 * 2^24 are exact in f32. */
static takt_id hybrid(takt_tfl_call *c, takt_id x, takt_id k, const takt_tfl_window *w,
                      const int64_t dims[4])
{
    takt_graph *g = c->g;
    const takt_tfl_dynamic d = takt_tfl_dynamic_of(c, x, true, true);
    const takt_id scale = takt_tfl_weight_scale(c, takt_tfl_tensor_in(c, 1), (size_t)dims[3]);
    if (d.q == TAKT_NONE || scale == TAKT_NONE || !takt_tfl_good(c))
        return TAKT_NONE;
    const takt_id level = takt_sub(g, takt_tfl_cast(c, d.q, TAKT_I32), d.zero);
    const takt_id sum =
        spread(c, takt_tfl_cast(c, level, TAKT_F32), takt_tfl_cast(c, k, TAKT_F32), w, dims);
    return takt_mul(g, takt_mul(g, sum, scale), d.scale);
}

static takt_status adapt(takt_tfl_call *c)
{
    enum { PADDING, STRIDE_W, STRIDE_H, ACTIVATION };
    const takt_tfl_ints shape = takt_tfl_known(c, 0);
    const takt_id k = takt_tfl_as_bytes(c, takt_tfl_need(c, 1)), x = takt_tfl_need(c, 2);
    const takt_type tk = *takt_type_of(c->g, k), tx = *takt_type_of(c->g, x);
    if (!takt_tfl_good(c))
        return c->status;
    if (shape.count != 4 || tk.rank != 4 || tx.rank != 4 || tk.dim[3] != tx.dim[3] ||
        tk.dim[0] != shape.at[3])
        return takt_tfl_refuse(c, "shapes that are not images and filters");
    takt_tfl_window w = {.axes = 2,
                         .in = {shape.at[1], shape.at[2]},
                         .kernel = {tk.dim[1], tk.dim[2]},
                         .stride = {takt_tfl_i32(c, STRIDE_H, 0), takt_tfl_i32(c, STRIDE_W, 0)},
                         .dilation = {1, 1}};
    if (!takt_tfl_window_set(c, &w, takt_tfl_u8(c, PADDING, 0)))
        return c->status;
    if (w.out[0] != tx.dim[1] || w.out[1] != tx.dim[2])
        return takt_tfl_refuse(c, "a result that the window does not give");
    if (!takt_dtype_is_float(tx.dtype))
        return takt_tfl_done(c, integers(c, x, k, &w, shape.at));
    takt_id y = takt_dtype_is_float(tk.dtype) ? spread(c, x, k, &w, shape.at)
                                              : hybrid(c, x, k, &w, shape.at);
    const takt_id bias = takt_tfl_in(c, 3);
    if (bias != TAKT_NONE && y != TAKT_NONE)
        y = takt_add(c->g, y, bias);
    return takt_tfl_done(c, takt_tfl_activate(c, y, takt_tfl_u8(c, ACTIVATION, 0)));
}

const takt_tflite_op takt_tflite_TransposeConv = {
    .names = {"TRANSPOSE_CONV"}, .options = 49, .adapt = adapt};
