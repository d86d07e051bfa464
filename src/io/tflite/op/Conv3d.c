/* Conv3d.c - CONV_3D of floats: weights [planes, rows, columns, in, out]. */
#include "io/tflite/window.h"

enum { PADDING, STRIDE_D, STRIDE_W, STRIDE_H, ACTIVATION, DILATION_D, DILATION_W, DILATION_H };

/* `in` has the sizes of the larger side, behind the batch. */
static takt_tfl_window window_of(takt_tfl_call *c, const int64_t *in, const takt_type *k)
{
    return (takt_tfl_window){.axes = 3,
                             .in = {in[1], in[2], in[3]},
                             .kernel = {k->dim[0], k->dim[1], k->dim[2]},
                             .stride = {takt_tfl_i32(c, STRIDE_D, 0), takt_tfl_i32(c, STRIDE_H, 0),
                                        takt_tfl_i32(c, STRIDE_W, 0)},
                             .dilation = {takt_tfl_i32(c, DILATION_D, 1),
                                          takt_tfl_i32(c, DILATION_H, 1),
                                          takt_tfl_i32(c, DILATION_W, 1)}};
}

static takt_status adapt_plain(takt_tfl_call *c)
{
    static const int64_t perm[] = {4, 0, 1, 2, 3};
    const takt_id x = takt_tfl_need(c, 0), k = takt_tfl_need(c, 1);
    const takt_type tx = *takt_type_of(c->g, x), tk = *takt_type_of(c->g, k);
    if (!takt_tfl_good(c))
        return c->status;
    if (tx.rank != 5 || tk.rank != 5 || tk.dim[3] != tx.dim[4] || !takt_dtype_is_float(tx.dtype))
        return takt_tfl_refuse(c, "shapes that are not volumes and filters of floats");
    takt_tfl_window w = window_of(c, tx.dim, &tk);
    if (!takt_tfl_window_set(c, &w, takt_tfl_u8(c, PADDING, 0)))
        return c->status;
    const takt_tfl_conv v = {.x = x,
                             .w = takt_transpose(c->g, k, perm, 5),
                             .bias = takt_tfl_in(c, 2),
                             .tw = takt_tfl_tensor_in(c, 1),
                             .groups = 1,
                             .activation = takt_tfl_u8(c, ACTIVATION, 0)};
    return takt_tfl_done(c, takt_tfl_convolve(c, &w, &v));
}

/* The shape of the result is an input; weights [planes, rows, columns, out, in] are [in, planes,
 * rows, columns, out] for our op. */
static takt_status adapt_transposed(takt_tfl_call *c)
{
    static const int64_t perm[] = {4, 0, 1, 2, 3};
    const takt_tfl_ints shape = takt_tfl_known(c, 0);
    const takt_id k = takt_tfl_need(c, 1), x = takt_tfl_need(c, 2), bias = takt_tfl_in(c, 3);
    const takt_type tk = *takt_type_of(c->g, k), tx = *takt_type_of(c->g, x);
    if (!takt_tfl_good(c))
        return c->status;
    if (shape.count != 5 || tk.rank != 5 || tx.rank != 5 || tk.dim[4] != tx.dim[4] ||
        tk.dim[3] != shape.at[4] || !takt_dtype_is_float(tx.dtype) ||
        !takt_dtype_is_float(tk.dtype))
        return takt_tfl_refuse(c, "shapes that are not volumes and filters of floats");
    takt_tfl_window w = window_of(c, shape.at, &tk);
    if (!takt_tfl_window_set(c, &w, takt_tfl_u8(c, PADDING, 0)))
        return c->status;
    for (int i = 0; i < 3; i++)
        if (w.out[i] != tx.dim[1 + i])
            return takt_tfl_refuse(c, "a result that the window does not give");
    takt_named_attr attrs[TAKT_TFL_CONV_ATTRS + 1];
    takt_tfl_window_attrs(&w, 1, attrs);
    attrs[TAKT_TFL_CONV_ATTRS] = (takt_named_attr){"shape", takt_attr_shape(shape.at, 5)};
    takt_id y = takt_tfl_op2(c, &takt_op_conv_dx, x, takt_transpose(c->g, k, perm, 5),
                             TAKT_TFL_CONV_ATTRS + 1, attrs);
    if (bias != TAKT_NONE && y != TAKT_NONE)
        y = takt_add(c->g, y, bias);
    return takt_tfl_done(c, takt_tfl_activate(c, y, takt_tfl_u8(c, ACTIVATION, 0)));
}

static takt_status adapt(takt_tfl_call *c)
{
    return takt_tfl_is(c, "CONV_3D") ? adapt_plain(c) : adapt_transposed(c);
}

const takt_tflite_op takt_tflite_Conv3d = {
    .names = {"CONV_3D", "CONV_3D_TRANSPOSE"}, .options = 106, .adapt = adapt};
