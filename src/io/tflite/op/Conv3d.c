/* Conv3d.c - CONV_3D of floats: weights [planes, rows, columns, in, out]. */
#include "io/tflite/window.h"

static takt_status adapt(takt_tfl_call *c)
{
    enum { PADDING, STRIDE_D, STRIDE_W, STRIDE_H, ACTIVATION, DILATION_D, DILATION_W, DILATION_H };
    static const int64_t perm[] = {4, 0, 1, 2, 3};
    const takt_id x = takt_tfl_need(c, 0), k = takt_tfl_need(c, 1);
    const takt_type tx = *takt_type_of(c->g, x), tk = *takt_type_of(c->g, k);
    if (!takt_tfl_good(c))
        return c->status;
    if (tx.rank != 5 || tk.rank != 5 || tk.dim[3] != tx.dim[4] || !takt_dtype_is_float(tx.dtype))
        return takt_tfl_refuse(c, "shapes that are no volumes and filters of floats");
    takt_tfl_window w = {.axes = 3,
                         .in = {tx.dim[1], tx.dim[2], tx.dim[3]},
                         .kernel = {tk.dim[0], tk.dim[1], tk.dim[2]},
                         .stride = {takt_tfl_i32(c, STRIDE_D, 0), takt_tfl_i32(c, STRIDE_H, 0),
                                    takt_tfl_i32(c, STRIDE_W, 0)},
                         .dilation = {takt_tfl_i32(c, DILATION_D, 1),
                                      takt_tfl_i32(c, DILATION_H, 1),
                                      takt_tfl_i32(c, DILATION_W, 1)}};
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

const takt_tflite_op takt_tflite_Conv3d = {.names = {"CONV_3D"}, .options = 106, .adapt = adapt};
